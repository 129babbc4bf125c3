"""The forms that lines of a llama-server log take: prefixes, abort texts, stack frames, noise. Line in, value out.

Nothing here keeps state; `forkguard.core.serverlog` puts lines together.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

_CONTROL_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: window titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|\x1b[ -/]*[0-~]?"
)


def plain(raw: bytes) -> str:
    """The line as text that is safe to show: no terminal escapes, no control or invisible characters.

    >>> plain(b"\\x1b[31mE \\x1b]0;owned\\x07 bad\\tline\\x00\\xff")
    'E  bad line\\ufffd'
    """
    text = raw.decode("utf-8", "replace")
    if text.isprintable():
        return text
    text = _CONTROL_SEQUENCE.sub("", text).replace("\t", " ")
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())


@dataclass(frozen=True, slots=True)
class Line:
    """One log line taken apart.

    `level` is I, W, E, D or another letter of the server's stamp, "" where the line has no stamp. `pid` is the
    number in brackets in front (a router names its children so). `text` is what follows all prefixes.
    """

    level: str
    pid: int | None
    text: str


_STAMP = re.compile(r"(?:^|[\s|\]:])(\d{1,6})\.(\d\d)\.(\d{3})\.(\d{3}) ([A-Z]) +")
_PID = re.compile(r"\[(\d{1,7})\]:?\s")
_FOREIGN_PREFIX = re.compile(
    r"^(?:[\w.-]{1,80}\s*\|\s"  # compose: service-1  |
    r"|[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d \S{1,80} \S{1,80}?(?=\[\d+\]: |: )(?:: )?"  # syslog, journal
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\s+(?:std(?:out|err) [FP] )?)"  # ISO time, container runtime
)
_STAMP_REACH = 200


def split(text: str) -> Line:
    """Take the prefixes off a line that `plain` made.

    >>> split("server-1  | [812] 61.02.003.004 W srv    load: odd")
    Line(level='W', pid=812, text='srv    load: odd')
    >>> split("[812] thing.cpp:3: broke")
    Line(level='', pid=812, text='thing.cpp:3: broke')
    """
    stamp = _STAMP.search(text, 0, _STAMP_REACH)
    if stamp:
        pids = _PID.findall(text, 0, stamp.start(1))
        return Line(stamp[5], int(pids[-1]) if pids else None, text[stamp.end() :])
    foreign = _FOREIGN_PREFIX.match(text)
    rest = text[foreign.end() :] if foreign else text
    pid = _PID.match(rest)
    return Line("", int(pid[1]), rest[pid.end() :]) if pid else Line("", None, rest)


class AbortKind(StrEnum):
    """What ended the process, as far as its own words tell."""

    ASSERT = "assert"
    ABORT = "abort"
    EXCEPTION = "exception"
    HEAP = "heap"
    SANITIZER = "sanitizer"
    SIGNAL = "signal"


@dataclass(frozen=True, slots=True)
class AbortText:
    """An abort as one line says it; `path` and `line` where it names a place."""

    kind: AbortKind
    text: str
    path: str = ""
    line: int | None = None


_SOURCE = (
    r"(?P<path>\S[^:]*\.(?:cpp|cxx|cc|c|cuh|cu|hpp|h|mm|m|metal|cl|inc|tcc|inl)|\S*/bits/\S+?):(?P<line>\d{1,7})"
)
_LIBC_ASSERT = re.compile(rf"^[^:\s]+: {_SOURCE}: .*Assertion [`'](?P<text>.*)' failed\.?")
_PLACED = re.compile(rf"^{_SOURCE}: (?P<text>\S.*)$")
_OLD_ASSERT = re.compile(rf"^GGML_ASSERT: {_SOURCE}: (?P<text>.+)$")
_BARE_ASSERT = re.compile(r"^GGML_ASSERT\(.*\) failed")
_CXX = re.compile(
    r"^terminate called (?:after throwing|without an active|recursively)"
    r"|^libc\+\+abi: |^terminating (?:due to|with) uncaught"
)
_HEAP = re.compile(
    r"^(?:free|malloc|realloc|calloc|munmap_chunk|malloc_consolidate)\(\): \w|^double free or corruption"
    r"|^corrupted (?:size|double-linked)|^\*\*\* (?:stack smashing|buffer overflow) detected"
    r"|^(?:pure|deleted) virtual|^tcache_|^malloc: \*\*\* error"
)
_SANITIZER = re.compile(r"^==\d+==\s?ERROR: (?P<text>\w+Sanitizer: .*)$")
_SIGNAL = re.compile(
    r"^(?:\S+: line \d+:\s+\d+ )?(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception"
    r"|Killed|Trace/breakpoint trap)(?: +\(core dumped\))?\b"
)
_TALK = ("warning:", "note:", "error:", "In function", "at ")


def abort_text(line: Line) -> AbortText | None:
    """What the line says about an abort, or None. Stamped lines count only at level E: others may quote a prompt.

    >>> abort_text(Line("", None, "a/b.cpp:12: GGML_ASSERT(x > 0) failed"))
    AbortText(kind=<AbortKind.ASSERT: 'assert'>, text='GGML_ASSERT(x > 0) failed', path='a/b.cpp', line=12)
    """
    if line.level not in {"", "E"}:
        return None
    for pattern in (_LIBC_ASSERT, _OLD_ASSERT, _PLACED):
        if found := pattern.match(line.text):
            return _placed(found, asserted=pattern is not _PLACED)
    for pattern, kind in (
        (_BARE_ASSERT, AbortKind.ASSERT),
        (_CXX, AbortKind.EXCEPTION),
        (_HEAP, AbortKind.HEAP),
        (_SIGNAL, AbortKind.SIGNAL),
    ):
        if pattern.match(line.text):
            return AbortText(kind, line.text.strip())
    if found := _SANITIZER.match(line.text):
        return AbortText(AbortKind.SANITIZER, found["text"])
    return None


def _placed(found: re.Match[str], *, asserted: bool) -> AbortText | None:
    text = found["text"].strip()
    if text.startswith(_TALK):
        return None
    if asserted:
        text = f"assertion `{text}' failed"
    asserted = asserted or text.startswith("GGML_ASSERT") or "Assertion '" in text
    kind = AbortKind.ASSERT if asserted else AbortKind.ABORT
    return AbortText(kind, text, found["path"], int(found["line"]))


def what_text(line: Line) -> str | None:
    """The message of a C++ exception, from the line that follows `terminate called`.

    >>> what_text(Line("", None, "  what():  no such thing"))
    'no such thing'
    """
    found = re.match(r"^\s*what\(\):\s*(.*)$", line.text)
    return found[1].strip() if found else None


@dataclass(frozen=True, slots=True)
class Frame:
    """One stack frame: the library or program, and the function as far as its name can be told."""

    module: str
    symbol: str


_FRAMES = (
    re.compile(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(?P<symbol>[^(]+?) ?\(.*?(?: from (?P<module>\S+)| at \S+)?$"),
    re.compile(r"^(?:\* )?frame #\d+: 0x[0-9a-f]+ (?P<module>\S+?)`(?P<symbol>.+?)(?: \+ \d+)?(?: at \S+)?$"),
    re.compile(r"^(?P<module>\S*)\((?P<symbol>[^()+]*)(?:\+0x[0-9a-f]+)?\)\s?\[0x[0-9a-f]+\]$"),
    re.compile(r"^\d+\s+(?P<module>\S+)\s+0x[0-9a-f]{8,}\s+(?P<symbol>.+?) \+ \d+$"),
    re.compile(r"^\d+: 0x[0-9a-f]+ ?(?P<module>)(?P<symbol>\S*)$"),
)
_DEBUGGER = re.compile(
    r"^(?:\[(?:New LWP|Thread debugging|Inferior|Current thread|Detaching)|Using host libthread_db|warning: "
    r"|0x[0-9a-f]+ in |\d+\s+\S*\.(?:c|S|h|cpp)\b|\d+\s+in \S|This GDB |Enable debuginfod|Debuginfod has been"
    r"|To make this setting|For more information|ptrace: |No stack|The program is not being run|Could not attach"
    r"|WARNING: Using native backtrace|WARNING: GGML_BACKTRACE|See: http|\(lldb\)|Process \d+ (?:stopped|detached)"
    r"|\* thread #|thread #|Executable (?:module|binary) set|Architecture set to|<https?://|Downloading )"
)


def frame(line: Line) -> Frame | None:
    """The stack frame that the line shows, or None.

    >>> frame(Line("", None, "/o/libx.so(_ZN5model5buildEi+0x1f) [0x7f00]"))
    Frame(module='libx.so', symbol='model::build')
    """
    if line.level:
        return None
    for pattern in _FRAMES:
        if found := pattern.match(line.text):
            module = (found["module"] or "").rpartition("/")[2]
            return Frame(module, qualified_name((found["symbol"] or "").strip()))
    return None


def debugger_noise(line: Line) -> bool:
    """Whether the line is what a debugger says around a backtrace."""
    return not line.level and bool(_DEBUGGER.match(line.text))


def qualified_name(symbol: str) -> str:
    """The readable front of a mangled C++ name (scopes only, no template arguments); other symbols unchanged.

    >>> qualified_name("_ZN4tiny5graphILb0EEC1ERK5model"), qualified_name("ggml_abort")
    ('tiny::graph', 'ggml_abort')
    """
    start = re.match(r"_Z(?:N[KVRO]*)?(?:St)?", symbol)
    if not start:
        return symbol
    parts, at = [], start.end()
    while length := re.match(r"[1-9]\d{0,2}", symbol[at : at + 3]):
        begin = at + length.end()
        at = begin + int(length[0])
        parts.append(symbol[begin:at])
        if not symbol.startswith("_ZN"):
            break
    return "::".join(parts) or symbol


_HARMLESS = re.compile(
    r"failed to measure .{0,40}memory|borrow_shared_tensor|n_ctx_se[qr]\w* \(\d+\) [<>] n_ctx_train"
    r"|CORS|cross-origin|more info: http|^srv\s+\S+: -+$|binding port|compute buffer size of .* expectation"
    r"|does not match expectation|\bport \d+\b.*\bin use\b.*\btrying\b|no API key|deprecated"
    r"|normal during memory fitting|special_eog_ids|control-looking token|overriding type|is not marked as EOG"
)


def harmless(line: Line) -> bool:
    """Whether an alarming line is known to mean nothing for the gate."""
    return bool(_HARMLESS.search(line.text))
