"""Which archs a llama.cpp tree has: names, enums, classes, files, and who shares whose graph."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from forkguard.core.names import TreePath
from forkguard.core.syntax import PieceKind, SourceFile, Unit, parse

CXX_SUFFIXES = (".cpp", ".cc", ".cxx", ".h", ".hpp")
SOURCE_FOLDERS = ("src", "common")
"""Where archs and the registries that list them live; tests, tools and vendored code are not read."""

_CLASS = r"(?:llama_model|llm_build)_\w+"
_CREATES = re.compile(rf"\b(?:new|make_unique <) ({_CLASS})\b")
_DEFINES = re.compile(
    rf"^(?:\w[\w:<>,*& ]*[ *&])?({_CLASS})(?:<[^>\n]*>)?::|^struct ({_CLASS})\b[^;\n]*\{{", re.MULTILINE
)
_BASES = re.compile(r"\b(?:public|protected|private) ([\w :]+?)(?: <| ,| \{|$)")
_MENTIONED = re.compile(rf"\b({_CLASS})\b")


class SourceTree:
    """The C++ files of one commit, by path; each is parsed when it is first asked for."""

    def __init__(self, files: Mapping[TreePath, bytes]) -> None:
        self.files = {path: data for path, data in files.items() if path.endswith(CXX_SUFFIXES)}

    def parse(self, path: TreePath) -> SourceFile:
        """The parsed file. Raises `KeyError` for a path that is not there."""
        return parse(self.files[path])

    def mentioning(self, *words: bytes) -> tuple[TreePath, ...]:
        """The files that hold one of the words, in the order of their paths."""
        return tuple(path for path in sorted(self.files) if any(word in self.files[path] for word in words))

    @cached_property
    def archs(self) -> "ArchIndex":
        """The archs of this tree."""
        return read_archs(self.files)


@dataclass(frozen=True, slots=True)
class Arch:
    """One model architecture.

    `cls` is its model class (`llama_model_lfm2`), None where no factory creates one. `files` define its
    functions. `shares` are the other archs with the same graph; `graph_of` is the arch that owns it, when
    that is another. `lineage` are the classes whose functions its graph runs: its own and their bases.
    """

    name: str
    enum: str
    cls: str | None
    files: tuple[TreePath, ...]
    shares: tuple[str, ...]
    graph_of: str | None
    lineage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArchIndex:
    """The archs of a tree by name, in the order in which `LLM_ARCH_NAMES` lists them."""

    archs: Mapping[str, Arch]

    def family(self, name: str) -> tuple[Arch, ...]:
        """The arch and those that share its graph; empty when the tree has no such arch."""
        arch = self.archs.get(name)
        return (arch, *(self.archs[other] for other in arch.shares)) if arch is not None else ()


def read_archs(files: Mapping[TreePath, bytes]) -> ArchIndex:
    """Read the archs of a tree from its C++ files (path to contents)."""
    tree = files if isinstance(files, SourceTree) else SourceTree(files)
    enums = _names(tree)
    classes = _classes(tree, set(enums.values()))
    definitions = _definitions(tree)
    bases, owners = _relations(tree)
    roots = {enum: _graph_owner(cls, owners) for enum, cls in classes.items()}
    named = {cls: name for name, enum in enums.items() if (cls := classes.get(enum)) is not None}
    archs: dict[str, Arch] = {}
    for name, enum in enums.items():
        cls, root = classes.get(enum), roots.get(enum)
        shares = tuple(
            other for other, its in enums.items() if other != name and root is not None and roots.get(its) == root
        )
        owner = named.get(root) if root is not None and root != cls else None
        lineage = _lineage(cls, root, bases)
        own = tuple(sorted({path for part in (cls, root) if part for path in definitions.get(part, ())}))
        archs[name] = Arch(name, enum, cls, own, shares, owner, lineage)
    return ArchIndex(archs)


def _units(tree: SourceTree, *words: bytes) -> Iterable[tuple[TreePath, Unit]]:
    for path in tree.mentioning(*words):
        for unit in tree.parse(path).units:
            if any(word in unit.text for word in words):
                yield path, unit


def _names(tree: SourceTree) -> dict[str, str]:
    """Arch name to enum, from the table `LLM_ARCH_NAMES`."""
    found: dict[str, str] = {}
    for _, unit in _units(tree, b"LLM_ARCH_NAMES"):
        if unit.symbol != "LLM_ARCH_NAMES":
            continue
        for piece in unit.pieces:
            if piece.kind is PieceKind.ENTRY and piece.enumerators and piece.tokens[3][:1] == '"':
                found.setdefault(piece.tokens[3].strip('"'), piece.enumerators[0])
    return found


def _classes(tree: SourceTree, enums: set[str]) -> dict[str, str]:
    """Enum to the class that a factory creates for it."""
    found: dict[str, str] = {}
    for _, unit in _units(tree, b"case LLM_ARCH_"):
        if not _MENTIONED.search(unit.text.decode("utf-8", "replace")):
            continue
        for piece in unit.pieces:
            created = _CREATES.search(piece.outcome)
            if piece.kind is PieceKind.CASE and created and piece.enumerators and piece.enumerators[0] in enums:
                found.setdefault(piece.enumerators[0], created.group(1))
    return found


def _definitions(tree: SourceTree) -> dict[str, list[TreePath]]:
    """Class to the files (not headers) that define its functions."""
    found: dict[str, list[TreePath]] = {}
    for path in tree.mentioning(b"llama_model_", b"llm_build_"):
        if path.endswith((".h", ".hpp")):
            continue
        text = tree.files[path].decode("utf-8", "replace")
        for cls in {one or other for one, other in _DEFINES.findall(text)}:
            found.setdefault(cls, []).append(path)
    return found


def _relations(tree: SourceTree) -> tuple[dict[str, set[str]], dict[str, str]]:
    """Class to the bases of itself and its nested graphs, and class to the class whose graph it takes."""
    bases: dict[str, set[str]] = {}
    owners: dict[str, str] = {}
    for _, unit in _units(tree, b"struct llama_model_", b"struct llm_build_", b"struct graph"):
        outer, _, nested = unit.symbol.partition("::")
        head = unit.pieces[0].text if unit.pieces else ""
        if not _MENTIONED.fullmatch(outer) or not head.startswith(("struct ", "class ")):
            continue
        names = [base.split(" ")[0] for base in _BASES.findall(head)]
        bases.setdefault(outer, set()).update(name for name in names if _MENTIONED.fullmatch(name))
        models = [name for name in names if name.startswith("llama_model_") and name != "llama_model_base"]
        if not nested and models:
            owners.setdefault(outer, models[0])
    for _, unit in _units(tree, b"using graph"):
        outer = unit.symbol.split("::")[0]
        named = [cls for cls in _MENTIONED.findall(unit.text.decode("utf-8", "replace")) if cls != outer]
        if unit.node.type == "alias_declaration" and named:
            owners[outer] = named[0]
    return bases, owners


def _graph_owner(cls: str, owners: Mapping[str, str]) -> str:
    """The class whose graph `cls` really builds: through aliases, else through a base that is a model."""
    seen = {cls}
    while (following := owners.get(cls)) is not None and following not in seen:
        seen.add(following)
        cls = following
    return cls


def _lineage(cls: str | None, root: str | None, bases: Mapping[str, set[str]]) -> tuple[str, ...]:
    waiting = [part for part in (cls, root) if part is not None]
    found: list[str] = []
    while waiting:
        part = waiting.pop(0)
        if part not in found and part not in {"llama_model_base", "llm_graph_context"}:
            found.append(part)
            waiting += sorted(bases.get(part, ()))
    return tuple(found)
