"""Receipts as they lie on disk: what seals one to its logs and to the one before it, and how it is read back.

A receipt is a `forkguard/gate@1` document with five fields more: `previous`, `logs`, `build`, `flags`, `job`.
Beside it `SHA256SUMS` (in the form of sha256sum) names the receipt, its logs and the receipt before it.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from forkguard.core.server_flags import flag_set

RECEIPT_NAME = "receipt.json"
SUMS_NAME = "SHA256SUMS"
SIGNATURE_NAME = "receipt.json.sig"
HEAD_NAME = "HEAD"
SIGNED_FOR = "forkguard-receipt"
"""The namespace of signatures: one made for anything else is none."""

_SUM = re.compile(r"([0-9a-f]{64})  ([^\x00-\x1f\x7f]+)")
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_COMPILER = re.compile(r'^set\(CMAKE_(\w+?)_COMPILER(|_ID|_VERSION) "([^"\n]*)"\)', re.MULTILINE)
_OPTION = re.compile(
    r"^((?:GGML|LLAMA)_\w+|CMAKE_BUILD_TYPE|CMAKE_(?:C|CXX|CUDA|HIP)_FLAGS(?:_\w+)?):\w+=(.+)$", re.MULTILINE
)


class BadReceipt(Exception):
    """A receipt, or what lies beside it, is not what its hash, its form or its chain says; the text says how."""


@dataclass(frozen=True, slots=True)
class Link:
    """One receipt of the chain: its path below the folder of receipts (`<folder>/receipt.json`) and its SHA-256."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LogHash:
    """A raw log beside its receipt; `size` in bytes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler as cmake found it."""

    language: str
    path: str
    id: str
    version: str


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """How the program was built. `profile` is None for one that was built elsewhere; `options` are cmake's."""

    profile: str | None
    compilers: tuple[Compiler, ...]
    options: Mapping[str, str]


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def seal(
    document: str, *, previous: Link | None, logs: Sequence[LogHash], build: BuildFacts | None, job: str | None
) -> str:
    """The receipt as it is written: the gate's document with what ties it to its logs, build and chain."""
    value = json.loads(document)
    value["job"] = job
    value["flags"] = [
        {"arm": arm["name"], "flags": list(flag_set(arm["command"][1:]).words())} for arm in value.get("arms", [])
    ]
    value["build"] = _build(build) if build is not None else value.get("build")
    value["logs"] = [{"path": log.path, "sha256": log.sha256, "bytes": log.size} for log in logs]
    value["previous"] = {"path": previous.path, "sha256": previous.sha256} if previous is not None else None
    return json.dumps(value, indent=2) + "\n"


def _build(facts: BuildFacts) -> dict[str, object]:
    return {
        "profile": facts.profile,
        "compilers": [
            {"language": one.language, "path": one.path, "id": one.id, "version": one.version}
            for one in facts.compilers
        ],
        "options": dict(facts.options),
    }


def sums(receipt: bytes, *, previous: Link | None, logs: Sequence[LogHash]) -> str:
    """The text of `SHA256SUMS`; `sha256sum -c SHA256SUMS` in the receipt's folder checks it."""
    lines = [f"{digest(receipt)}  {RECEIPT_NAME}", *(f"{log.sha256}  {log.path}" for log in logs)]
    if previous is not None:
        lines.append(f"{previous.sha256}  ../{previous.path}")
    return "".join(f"{line}\n" for line in lines)


def read_sums(text: str) -> dict[str, str]:
    """Path to hash. Raises `BadReceipt` for a line of another form.

    >>> read_sums("00\\n")
    Traceback (most recent call last):
    forkguard.core.receipts.BadReceipt: line 1 is not a sum and a name
    """
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _SUM.fullmatch(line)
        if match is None:
            raise BadReceipt(f"line {number} is not a sum and a name")
        found[match[2]] = match[1]
    return found


def head_text(link: Link) -> str:
    """The text of the file that names the newest receipt."""
    return f"{link.sha256}  {link.path}\n"


def read_head(text: str) -> Link:
    """The newest receipt. Raises `BadReceipt` where the file is damaged."""
    found = read_sums(text)
    if len(found) != 1:
        raise BadReceipt("it does not name one receipt")
    ((path, sha256),) = found.items()
    return Link(check_path(path), sha256)


def check_path(path: str) -> str:
    """A receipt's path, which stays in the folder of receipts; else raises `BadReceipt`.

    >>> check_path("20260901T120005Z-abc/receipt.json")
    '20260901T120005Z-abc/receipt.json'
    >>> check_path("../elsewhere/receipt.json")
    Traceback (most recent call last):
    forkguard.core.receipts.BadReceipt: '../elsewhere/receipt.json' is not the path of a receipt
    """
    folder, slash, name = path.partition("/")
    if not slash or name != RECEIPT_NAME or not _FOLDER.fullmatch(folder):
        raise BadReceipt(f"{path!r} is not the path of a receipt")
    return path


def claimed_previous(text: str) -> Link | None:
    """The receipt that a `SHA256SUMS` says was before its own; None where it names none or is damaged."""
    try:
        links = [Link(check_path(path.removeprefix("../")), sha256) for path, sha256 in read_sums(text).items()
                 if path.startswith("../")]  # fmt: skip
    except BadReceipt:
        return None
    return links[0] if len(links) == 1 else None


def read_compiler(text: str) -> Compiler | None:
    """The compiler of one of cmake's `CMake<LANG>Compiler.cmake` files; None where it names none.

    >>> read_compiler('set(CMAKE_CXX_COMPILER "/usr/bin/c++")\\nset(CMAKE_CXX_COMPILER_VERSION "12.2.0")').version
    '12.2.0'
    """
    found = {(language, what): value for language, what, value in _COMPILER.findall(text)}
    language = next((language for language, what in found if not what), None)
    if language is None:
        return None
    return Compiler(
        language, found[language, ""], found.get((language, "_ID"), ""), found.get((language, "_VERSION"), "")
    )


def read_options(cache: str) -> dict[str, str]:
    """The options of a `CMakeCache.txt` that decide what is built.

    >>> read_options("GGML_CUDA:BOOL=ON\\nGGML_CUDA-ADVANCED:INTERNAL=1\\nCMAKE_AR:FILEPATH=/usr/bin/ar\\n")
    {'GGML_CUDA': 'ON'}
    """
    return {name: value.strip() for name, value in sorted(_OPTION.findall(cache))}


# -- reading back ------------------------------------------------------------------------------------------

Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
VerdictText = Literal["pass", "fail", "inconclusive"]


class _Part(BaseModel):
    """A part of a receipt that `verify` reads; what it does not read is covered by the hash alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class ReadFile(_Part):
    """A file and its hash."""

    path: str
    sha256: Sha


class ReadLog(_Part):
    """A log beside the receipt."""

    path: Annotated[str, Field(pattern=rf"^{_LOG.pattern}$")]
    sha256: Sha


class ReadModel(_Part):
    """A model; `sha256` is as `forkguard.adapters.server_files.read_model` makes it."""

    name: str
    sha256: Sha
    arch: str


class ReadTree(_Part):
    """What was gated."""

    commit: str | None
    binary: str
    binary_sha256: Sha
    libraries: tuple[ReadFile, ...]


class ReadCheck(_Part):
    """A check and its verdict."""

    name: str
    verdict: VerdictText
    detail: str


class ReadArm(_Part):
    """A server that ran."""

    name: str
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    complete: bool
    verbose: bool
    side: str = "fork"
    recheck: bool = False

    @property
    def served(self) -> bool:
        """Whether the program that is judged answered everything under these flags, as it would in service."""
        return self.complete and self.side == "fork" and not self.verbose and not self.recheck


class Receipt(_Part):
    """What `verify` and `gate --merge` read of a receipt."""

    schema_: Annotated[Literal["forkguard/gate@1"], Field(alias="schema")]
    verdict: VerdictText
    arch: str
    checks: tuple[ReadCheck, ...]
    arms: tuple[ReadArm, ...]
    tree: ReadTree
    models: tuple[ReadModel, ...]
    environment: Mapping[str, str]
    started: AwareDatetime
    finished: AwareDatetime
    job: str | None
    logs: tuple[ReadLog, ...]
    previous: ReadFile | None

    @property
    def link(self) -> Link | None:
        """The receipt before it. Raises `BadReceipt` where its path leads elsewhere."""
        return Link(check_path(self.previous.path), self.previous.sha256) if self.previous is not None else None


def read_receipt(content: bytes) -> Receipt:
    """A receipt from its bytes. Raises `BadReceipt` for anything else, and for one that contradicts itself."""
    try:
        receipt = Receipt.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadReceipt(f"{place + ': ' if place else ''}{first['msg']}") from error
    verdicts = {check.verdict for check in receipt.checks}
    if receipt.verdict == "pass" and verdicts != {"pass"}:
        raise BadReceipt("it says pass, and its checks do not")
    if receipt.finished < receipt.started:
        raise BadReceipt("it ended before it began")
    return receipt
