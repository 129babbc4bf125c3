"""Which archs a llama.cpp tree has: names, enums, classes, files, and who shares whose graph."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from forkguard.core.names import TreePath
from forkguard.core.pieces import Piece, PieceKind
from forkguard.core.pysource import parse_python
from forkguard.core.syntax import SourceFile, Unit, parse

Located = tuple[TreePath, Unit]
"""A unit, and the file that it stands in."""

CXX_SUFFIXES = (".cpp", ".cc", ".cxx", ".h", ".hpp")
PYTHON_SUFFIX = ".py"
SOURCE_FOLDERS = ("src", "common", "gguf-py/gguf", "conversion", "convert_hf_to_gguf.py")
"""Where archs and the registries that list them live; tests, tools and vendored code are not read.

(The converters were one file before they got a folder.)
"""

_NAME_AT = 2  # MODEL_ARCH.X : "name"
_CLASS = r"(?:llama_model|llm_build)_\w+"
_CREATES = re.compile(rf"\b(?:new|make_unique <) ({_CLASS})\b|\bllm \. (build_\w+) \(")
_DEFINES = re.compile(
    rf"^(?:\w[\w:<>,*& ]*[ *&])?({_CLASS})(?:<[^>\n]*>)?::|^struct ({_CLASS})\b[^;\n]*\{{", re.MULTILINE
)
_DEFINES_OR_MAKES = re.compile(rf"{_DEFINES.pattern}|\bmake_unique<(llm_build_\w+)", re.MULTILINE)
_DEFINES_MEMBER = re.compile(r"^[\w*& ]+[ *&](llm_build_context::build_\w+) ?\(", re.MULTILINE)
_BASES = re.compile(r"\b(?:public|protected|private) ([\w :]+?)(?: <| ,| \{|$)")
_NAME = re.compile(rb"\b(?:(?:LLM_ARCH|COMMON_SPECULATIVE_TYPE|llama_model|llm_build|build)_\w|MODEL_ARCH\.\w)\w*")
_MENTIONED = re.compile(rf"\b({_CLASS})\b")


def is_source(path: str) -> bool:
    """Whether a file is of a language that is compared."""
    return path.endswith((*CXX_SUFFIXES, PYTHON_SUFFIX))


class SourceTree:
    """The C++ and Python files of one commit, by path; each is parsed when it is first asked for."""

    def __init__(self, files: Mapping[TreePath, bytes]) -> None:
        self.files = {path: data for path, data in files.items() if is_source(path)}
        self._known: dict[bytes, tuple[TreePath, ...]] = {}
        self._units: dict[Arch, tuple[Located, ...]] = {}
        self._entries: dict[str, tuple[tuple[TreePath, Piece], ...]] = {}

    def parse(self, path: TreePath) -> SourceFile:
        """The parsed file. Raises `KeyError` for a path that is not there."""
        return parse_python(self.files[path]) if path.endswith(PYTHON_SUFFIX) else parse(self.files[path])

    def mentioning(self, *words: bytes) -> tuple[TreePath, ...]:
        """The files that hold one of the words, in the order of their paths.

        The names of archs, model classes and graphs are looked for whole, other words anywhere.
        """
        found = [self._index.get(word, ()) if _NAME.fullmatch(word) else self._holding(word) for word in words]
        return found[0] if len(found) == 1 else tuple(sorted({path for paths in found for path in paths}))

    def _holding(self, word: bytes) -> tuple[TreePath, ...]:
        if word not in self._known:
            self._known[word] = tuple(path for path in self._paths if word in self.files[path])
        return self._known[word]

    @cached_property
    def _index(self) -> Mapping[bytes, tuple[TreePath, ...]]:
        """Each name of an arch, a class or a graph to the files that hold it."""
        found: dict[bytes, list[TreePath]] = {}
        for path in self._paths:
            for name in names_in(self.files[path]):
                found.setdefault(name, []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    def units(self, arch: "Arch", find: Callable[[], Iterable[Located]]) -> tuple[Located, ...]:
        """The units of an arch as `find` finds them, remembered."""
        if arch not in self._units:
            self._units[arch] = tuple(find())
        return self._units[arch]

    def entries(self, enum: str) -> tuple[tuple[TreePath, Piece], ...]:
        """Every case, comparison and table entry that names an enum, in source order."""
        if enum not in self._entries:
            self._entries[enum] = tuple(
                (path, piece)
                for path in self.mentioning(enum.encode())
                for unit in self.parse(path).naming.get(enum, ())
                for piece, named in unit.entries
                if enum in named
            )
        return self._entries[enum]

    @cached_property
    def python_names(self) -> tuple[tuple[str, str], ...]:
        """Each `MODEL_ARCH.X` of the Python side with the arch that `MODEL_ARCH_NAMES` makes of it."""
        return tuple(
            (piece.tokens[0], piece.tokens[2].strip("\"'"))
            for path in self.mentioning(b"\nMODEL_ARCH_NAMES")
            for unit in self.parse(path).units
            if unit.symbol == "MODEL_ARCH_NAMES"
            for piece, _ in unit.entries
            if len(piece.tokens) > _NAME_AT
        )

    @cached_property
    def _paths(self) -> tuple[TreePath, ...]:
        return tuple(sorted(self.files))

    @cached_property
    def archs(self) -> "ArchIndex":
        """The archs of this tree."""
        return read_archs(self.files)


@lru_cache(maxsize=4096)
def names_in(source: bytes) -> frozenset[bytes]:
    """The names of archs, model classes and graphs in a file; the same bytes are read once."""
    return frozenset(_NAME.findall(source))


@dataclass(frozen=True, slots=True)
class Arch:
    """One model architecture.

    `cls` is its model class (`llama_model_lfm2`), None where no factory creates one. `files` define its
    functions. `shares` are the other archs with the same graph; `graph_of` is the arch that owns it, when
    that is another. `lineage` are the classes whose functions its graph runs: its own, those that they
    `makes`, and their bases. `root` is the class that has the graph. Trees of 2024 and before have a member
    function `llm_build_context::build_x` in place of a class.
    """

    name: str
    enum: str
    cls: str | None
    files: tuple[TreePath, ...]
    shares: tuple[str, ...]
    graph_of: str | None
    lineage: tuple[str, ...]
    root: str | None = None
    makes: tuple[str, ...] = ()


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
    tree = SourceTree(files)
    enums: dict[str, str] = {}
    classes: dict[str, str] = {}
    owners: dict[str, str] = {}
    bases: dict[str, set[str]] = {}
    definitions: dict[str, list[TreePath]] = {}
    makes: dict[str, tuple[str, ...]] = {}
    for path in tree.mentioning(b"LLM_ARCH_NAMES", b"llama_model_", b"llm_build_"):
        if path.endswith(PYTHON_SUFFIX):
            continue
        facts = facts_of(tree.files[path])
        for name, enum in facts.names:
            enums.setdefault(name, enum)
        for enum, cls in facts.classes:
            first = classes.setdefault(enum, cls)
            if cls not in {first, *makes.get(first, ())}:
                makes[first] = (*makes.get(first, ()), cls)
        owners |= dict(facts.owners)
        for cls, base in facts.bases:
            bases.setdefault(cls, set()).add(base)
        for cls, graph in facts.makes:
            makes[cls] = (*makes.get(cls, ()), graph)
        for cls in facts.defines if not path.endswith((".h", ".hpp")) else ():
            definitions.setdefault(cls, []).append(path)
    roots = {enum: _graph_owner(cls, owners) for enum, cls in classes.items()}
    named = {made: name for name, enum in enums.items() if (made := classes.get(enum)) is not None}
    archs: dict[str, Arch] = {}
    for name, enum in enums.items():
        cls_, root = classes.get(enum), roots.get(enum)
        shares = tuple(other for other, its in enums.items() if other != name and root and roots.get(its) == root)
        owner = named.get(root) if root and root != cls_ else None
        graphs = tuple(dict.fromkeys(other for part in (cls_, root) if part for other in makes.get(part, ())))
        own = tuple(sorted({path for part in (cls_, root, *graphs) if part for path in definitions.get(part, ())}))
        archs[name] = Arch(name, enum, cls_, own, shares, owner, _lineage((cls_, root, *graphs), bases), root, graphs)
    return ArchIndex(archs)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one file says of archs.

    `names`: arch name and enum. `classes`: enum and the class that a factory makes for it. `owners`: class
    and the class whose graph it takes. `bases`: class and a base of it or of its nested graphs. `defines`:
    classes whose functions stand in the file. `makes`: model class and a graph class that its functions make.
    """

    names: tuple[tuple[str, str], ...]
    classes: tuple[tuple[str, str], ...]
    owners: tuple[tuple[str, str], ...]
    bases: tuple[tuple[str, str], ...]
    defines: tuple[str, ...]
    makes: tuple[tuple[str, str], ...]


@lru_cache(maxsize=4096)
def facts_of(source: bytes) -> FileFacts:
    """Read one file; the same bytes are read once."""
    inherited, parents = _inheritance(source)
    text = source.decode("utf-8", "replace")
    return FileFacts(
        names=tuple(_names(source)),
        classes=tuple(_factory(source)),
        owners=(*parents, *_aliases(source)),
        bases=inherited,
        defines=(
            *dict.fromkeys(one or other for one, other in _DEFINES.findall(text)),
            *_DEFINES_MEMBER.findall(text),
        ),
        makes=tuple(_makes(text)),
    )


def _makes(text: str) -> Iterable[tuple[str, str]]:
    """Model classes, each with a graph class of another name that its functions make."""
    owner = ""
    for match in _DEFINES_OR_MAKES.finditer(text):
        owner = match.group(1) or match.group(2) or owner
        made = match.group(3)
        if made and owner.startswith("llama_model_") and made != owner:
            yield owner, made


def _units(source: bytes, *words: bytes) -> Iterable[Unit]:
    if any(word in source for word in words):
        for unit in parse(source).units:
            if any(word in unit.text for word in words):
                yield unit


def _names(source: bytes) -> Iterable[tuple[str, str]]:
    """Arch name and enum, from the table `LLM_ARCH_NAMES`."""
    for unit in _units(source, b"LLM_ARCH_NAMES"):
        for piece in unit.pieces if unit.symbol == "LLM_ARCH_NAMES" else ():
            if (
                piece.kind is PieceKind.ENTRY
                and piece.enumerators
                and piece.tokens[3:4]
                and piece.tokens[3][0] == '"'
            ):
                yield piece.tokens[3].strip('"'), piece.enumerators[0]


def _factory(source: bytes) -> Iterable[tuple[str, str]]:
    """Enum and a class that a factory creates for it; several where it chooses by something else as well."""
    for unit in _units(source, b"case LLM_ARCH_"):
        if _MENTIONED.search(unit.text.decode("utf-8", "replace")):
            for piece in unit.pieces:
                if piece.kind is PieceKind.CASE and piece.enumerators:
                    for cls, member in _CREATES.findall(piece.outcome):
                        yield piece.enumerators[0], cls or f"llm_build_context::{member}"


def _inheritance(source: bytes) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Classes with the bases of themselves and of their nested graphs, and those with a model as their parent."""
    bases: list[tuple[str, str]] = []
    parents: list[tuple[str, str]] = []
    for unit in _units(source, b"struct llama_model_", b"struct llm_build_", b"struct graph"):
        outer, _, nested = unit.symbol.partition("::")
        head = unit.pieces[0].text if unit.pieces else ""
        if not _MENTIONED.fullmatch(outer) or not head.startswith(("struct ", "class ")):
            continue
        names = [base.split(" ")[0] for base in _BASES.findall(head)]
        bases += [(outer, name) for name in names if _MENTIONED.fullmatch(name)]
        models = [name for name in names if name.startswith("llama_model_") and name != "llama_model_base"]
        parents += [(outer, models[0])] if models and not nested else []
    return tuple(bases), tuple(parents)


def _aliases(source: bytes) -> Iterable[tuple[str, str]]:
    """Classes that take another's graph by `using graph = other::graph`."""
    for unit in _units(source, b"using graph"):
        outer = unit.symbol.split("::")[0]
        named = [cls for cls in _MENTIONED.findall(unit.text.decode("utf-8", "replace")) if cls != outer]
        if unit.node is not None and unit.node.type == "alias_declaration" and named:
            yield outer, named[0]


def _graph_owner(cls: str, owners: Mapping[str, str]) -> str:
    """The class whose graph `cls` really builds: through aliases, else through a base that is a model."""
    seen = {cls}
    while (following := owners.get(cls)) is not None and following not in seen:
        seen.add(following)
        cls = following
    return cls


def _lineage(own: Iterable[str | None], bases: Mapping[str, set[str]]) -> tuple[str, ...]:
    waiting = [part for part in own if part is not None]
    found: list[str] = []
    while waiting:
        part = waiting.pop(0)
        if part not in found and part not in {"llama_model_base", "llm_graph_context"}:
            found.append(part)
            waiting += sorted(bases.get(part, ()))
    return tuple(found)
