r"""A patch in mail form as values: who made it, when, what it says, and what it does to each file.

Only the diff decides what a patch does; header fields, a diffstat and what comes behind the last hunk are
passed over, as `git am` does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser

from forkguard.core.hunks import FileChange, FileKind, Hunk, changes_of, lines_of
from forkguard.core.mails import author_of, fields_of, message_of, split_said
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.errors import CouldNotWork

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_INDEX = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d+))?")
_ENVELOPE = re.compile(rb"From ([0-9a-f]{40}(?:[0-9a-f]{24})?) ")
_BODY_END = re.compile(rb"^(?:---[ \t]*$|--- \S|diff -|Index: )", re.MULTILINE)
_PLAIN = re.compile(rb"^--- (.+)\n\+\+\+ (.+)\n(?=@@ -(\S+) \+(\S+) @@)", re.MULTILINE)
_GIT_FOLDER = re.compile(r"\.git[. ]*|git~1", re.IGNORECASE)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
NO_BLOB = BlobHash("0" * 40)


class NotAPatch(CouldNotWork):
    """The text is no patch that could be applied."""


@dataclass(frozen=True, slots=True)
class PatchMail:
    """One patch. `author` is raw (name, address, seconds, zone); `origin` the commit that its first line names.

    `headers` are the fields of its header and of the first lines of its message. `base` is the commit of its
    `base-commit:` line. In `files`, blobs may be abbreviated ids, and
    `sections` are the raw diffs of the binary files by path.
    """

    origin: CommitHash | None
    author: bytes
    message: bytes
    headers: Mapping[str, str]
    base: CommitHash | None
    diff: bytes
    files: tuple[FileChange, ...]
    sections: Mapping[TreePath, bytes]

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.decode("utf-8", "replace").split("\n", 1)[0]

    @property
    def paths(self) -> tuple[TreePath, ...]:
        """Every path that the patch reads or writes, each once."""
        return tuple(dict.fromkeys(path for file in self.files for path in (file.old_path, file.path)))


def parse_mail(content: bytes, *, strip: int = 1) -> PatchMail:
    """Read a patch; `strip` is how many leading folders a diff that git did not make has in its paths.

    A mail of which every line ends in CRLF got that on its way, as `git am` takes it. Raises `NotAPatch` where there
    is no diff in it, or a broken one.
    """
    if content.count(b"\n") == content.count(b"\r\n"):
        content = content.replace(b"\r\n", b"\n")
    envelope = _ENVELOPE.match(content)
    head = content.split(b"\n", 1)[1] if content.startswith(b"From ") and b"\n" in content else content
    mail = BytesParser().parsebytes(head)
    body = as_git_diff(_body(mail), strip=strip)
    said, diff = _split(body)
    files, sections = parse_patch(diff)
    if not files:
        raise NotAPatch("there is no diff in this mail", hint="give a patch as git format-patch writes it")
    own, text = split_said(said, charset=mail.get_content_charset())
    headers = fields_of(mail) | own
    base = re.search(rb"^base-commit: ([0-9a-f]{40,64})$", diff, re.MULTILINE)
    return PatchMail(
        CommitHash(envelope[1].decode()) if envelope else None,
        author_of(headers),
        message_of(headers, text),
        headers,
        CommitHash(base[1].decode()) if base else None,
        diff,
        files,
        sections,
    )


def _body(mail: Message) -> bytes:
    """The body's bytes. 8-bit bodies come back as they were; base64 and quoted-printable are decoded."""
    if mail.is_multipart():
        raise NotAPatch("this mail has attachments", hint="save the patch itself, as git format-patch writes it")
    payload = mail.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _split(body: bytes) -> tuple[bytes, bytes]:
    end = _BODY_END.search(body)
    said = body[: end.start()] if end else b""
    start = re.search(rb"^diff --git ", body, re.MULTILINE)
    return said, body[start.start() :] if start else b""


# -- the diff --------------------------------------------------------------------------------------------


def as_git_diff(text: bytes, *, strip: int) -> bytes:
    """A plain unified diff with git's lines in front of each file; a diff of git's own stays as it is."""
    if re.search(rb"^diff --git ", text, re.MULTILINE):
        return text
    return _PLAIN.sub(lambda found: _git_head(found, strip), text)


def _git_head(found: re.Match[bytes], strip: int) -> bytes:
    old, new = (found[side].split(b"\t", 1)[0].rstrip() for side in (1, 2))
    name = b"/".join((old if new == b"/dev/null" else new).split(b"/")[strip:])
    status = b""
    if old == b"/dev/null" or found[3] == b"0,0":
        status = b"new file mode 100644\n"
    elif new == b"/dev/null" or found[4] == b"0,0":
        status = b"deleted file mode 100644\n"
    sides = [
        b"/dev/null" if side == b"/dev/null" else b"%s/%s" % (mark, name) for side, mark in ((old, b"a"), (new, b"b"))
    ]
    return b"diff --git a/%s b/%s\n%s--- %s\n+++ %s\n" % (name, name, status, *sides)


def parse_patch(diff: bytes) -> tuple[tuple[FileChange, ...], Mapping[TreePath, bytes]]:
    """The file changes of a git diff, and the raw sections of its binary files."""
    lines = lines_of(diff)
    files: list[FileChange] = []
    sections: dict[TreePath, bytes] = {}
    at = 0
    while at < len(lines):
        if not lines[at].startswith("diff --git "):
            at += 1
            continue
        file, end, binary = _section(lines, at)
        files.append(file)
        if binary:
            sections[file.path] = "".join(lines[at:end]).encode("utf-8", "surrogateescape")
        at = end
    for path in (path for file in files for path in (file.old_path, file.path)):
        if any(part in ("", ".", "..") or _GIT_FOLDER.fullmatch(part) for part in path.split("/")):
            raise NotAPatch(f"it writes to {path!r}, which no checkout may hold", hint="look at the patch")
    return tuple(files), sections


def _section(lines: Sequence[str], start: int) -> tuple[FileChange, int, bool]:
    fields: dict[str, str] = {}
    at = start + 1
    while at < len(lines) and not lines[at].startswith(("@@ ", "diff --git ", "GIT binary patch", "Binary files ")):
        for key in _EXTENDED:
            if lines[at].startswith(key):
                fields[key] = lines[at].removeprefix(key).rstrip("\r\n")
        if fields.get("+++ ") is not None and lines[at].startswith("+++ "):
            at += 1
            break
        at += 1
    binary = at < len(lines) and lines[at].startswith(("GIT binary patch", "Binary files "))
    hunks: list[Hunk] = []
    while at < len(lines) and not binary and (match := _HUNK.match(lines[at])):
        hunk, at = _hunk(lines, at, match)
        hunks.append(hunk)
    if not binary and at < len(lines) and lines[at].startswith("@@ "):
        raise NotAPatch(f"a hunk begins with {lines[at][:60].rstrip()!r}", hint="get the patch again, whole")
    while binary and at < len(lines) and not lines[at].startswith("diff --git "):
        at += 1
    return _change(lines[start], fields, tuple(hunks)), at, binary


_EXTENDED = (
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "index ",
    "--- ",
    "+++ ",
)


def _change(title: str, fields: Mapping[str, str], hunks: tuple[Hunk, ...]) -> FileChange:
    if "copy from " in fields:
        raise NotAPatch("this patch copies a file", hint="make it with git format-patch --no-renames")
    index = _INDEX.match("index " + fields.get("index ", ""))
    old_path, path = _paths(title, fields)
    old_mode = fields.get("old mode ") or fields.get("deleted file mode ") or (index[3] if index else None)
    mode = fields.get("new mode ") or fields.get("new file mode ") or old_mode or "100644"
    if "new file mode " in fields:
        kind = FileKind.ADDED
    elif "deleted file mode " in fields:
        kind = FileKind.DELETED
    else:
        kind = FileKind.RENAMED if old_path != path else FileKind.MODIFIED
    return FileChange(
        kind,
        old_path,
        path,
        "000000" if kind is FileKind.ADDED else old_mode or mode,
        "000000" if kind is FileKind.DELETED else mode,
        BlobHash(index[1]) if index else NO_BLOB,
        BlobHash(index[2]) if index else NO_BLOB,
        hunks,
    )


def _paths(title: str, fields: Mapping[str, str]) -> tuple[TreePath, TreePath]:
    if "rename from " in fields:
        return TreePath(_unquoted(fields["rename from "])), TreePath(_unquoted(fields.get("rename to ", "")))
    named = [_side(fields.get(key, "/dev/null")) for key in ("--- ", "+++ ")]
    for name in reversed(named):
        if name != "/dev/null":
            return TreePath(name), TreePath(name)
    words = title.removeprefix("diff --git ").rstrip("\r\n")
    if words.endswith('"') and ' "' in words:
        return (TreePath(_side(words[words.rindex(' "') + 1 :])),) * 2
    return (TreePath(_side(words[len(words) // 2 + 1 :])),) * 2


def _side(name: str) -> str:
    """A path without its `a/` or `b/`, and without what may follow a tab."""
    text = _unquoted(name if name.startswith('"') else name.split("\t", 1)[0])
    return text if text == "/dev/null" else text.partition("/")[2]


def _unquoted(name: str) -> str:
    r"""
    >>> _unquoted('"b/\\303\\251 x"')
    'b/é x'
    """
    if not name.startswith('"'):
        return name
    inner = name[1 : name.rindex('"')].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(lambda m: _plain(m[1]), inner).decode("utf-8", "surrogateescape")


def _plain(escape: bytes) -> bytes:
    return bytes([int(escape, 8) & 255]) if len(escape) == 3 else _ESCAPED.get(escape, escape)


def _hunk(lines: Sequence[str], at: int, match: re.Match[str]) -> tuple[Hunk, int]:
    old, new = (int(match[group]) if match[group] is not None else 1 for group in (2, 4))
    rows: list[tuple[str, str]] = []
    end = at + 1
    for text in _rows(lines, end, old, new):
        rows.append(text)
        end += 1
    while end < len(lines) and lines[end].startswith("\\ "):
        end += 1
    rows = _joined(rows, trailing=end > at + 1 and lines[end - 1].startswith("\\ "))
    start = int(match[1]) - (1 if old else 0)
    section = f" {match[5].rstrip()}" if match[5].strip() else ""
    header = f"@@ -{match[1]},{old} +{match[3]},{new} @@{section}"
    before = tuple(text for kind, text in rows if kind != "+")
    after = tuple(text for kind, text in rows if kind != "-")
    return Hunk(header, start, before, after, changes_of(start, rows)), end


def _rows(lines: Sequence[str], at: int, old: int, new: int) -> Iterator[tuple[str, str]]:
    """The lines of a hunk by their counts: kind (space, `+`, `-`, or backslash) and text."""
    while old > 0 or new > 0:
        if at >= len(lines):
            raise NotAPatch("a hunk ends before its last line", hint="get the patch again, whole")
        line = lines[at]
        kind = line[:1] if line[:1] in " +-\\" and line.strip("\r\n") else " "
        if kind == " " and line[:1] not in (" ", "\n", "\r"):
            raise NotAPatch(f"a hunk has a line that begins with {line[:1]!r}", hint="get the patch again, whole")
        old -= kind in " -"
        new -= kind in " +"
        if old < 0 or new < 0:
            raise NotAPatch("a hunk has more lines than its header says", hint="get the patch again, whole")
        yield kind, line[1:] if line[:1] in " +-\\" else line
        at += 1


def _joined(rows: Sequence[tuple[str, str]], *, trailing: bool) -> list[tuple[str, str]]:
    """The rows without the remarks `\\ No newline at end of file`, and without the line ends they take away."""
    found: list[tuple[str, str]] = []
    for kind, text in [*rows, ("\\", "")] if trailing else rows:
        if kind == "\\" and found:
            last_kind, last = found[-1]
            found[-1] = (last_kind, last.removesuffix("\n"))
        elif kind != "\\":
            found.append((kind, text))
    return found
