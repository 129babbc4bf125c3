"""Patches as mails: who wrote them, what they say, what they change."""

import email.utils
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message

_PREFIXES = re.compile(r"^(?:[\s:]|re:|\[[^\]]*\])+", re.IGNORECASE)
_FIELD = re.compile(r"(From|Subject|Date):\s(.*)", re.IGNORECASE)
_BRACKETED = re.compile(r"<([^<>]*)>")
_BARE = re.compile(r"()[^\s<>()]{1,254}@[^\s<>()]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LONGEST = 1000
_LONGEST_NAME = 60
"""Longer names are none for `git am`, which takes the address instead."""
_FARTHEST = 14 * 60
"""Minutes between universal time and any zone."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What git says against a diff that it does not apply."""

    said: str


@dataclass(frozen=True, slots=True)
class Mail:
    """One patch: its author as git stores it (empty: not known), subject, message, and its diff."""

    author: bytes
    subject: bytes
    message: bytes
    diff: bytes

    @property
    def committed(self) -> bytes:
        """Seconds and zone of its date; the epoch where there is none."""
        return b" ".join(self.author.rsplit(b" ", 2)[1:]) if self.author else b"0 +0000"


def read_mail(info: bytes, message: bytes, diff: bytes) -> Mail:
    r"""Put together what `git mailinfo` gives.

    >>> read_mail(b"Author: A\nEmail: a@b.c\nSubject: s\nDate: Thu, 1 Jan 2026 12:00:00 +0200\n", b"", b"").author
    b'A <a@b.c> 1767261600 +0200'
    """
    fields = dict(line.split(b": ", 1) for line in info.split(b"\n") if b": " in line)
    name, address = (_clean(fields.get(key, b"nobody")) for key in (b"Author", b"Email"))
    author = b"%s <%s> %s" % (name, address, _moment(fields.get(b"Date", b"")))
    subject = fields.get(b"Subject", b"").strip() or b"(no subject)"
    body = message.strip(b"\n")
    return Mail(author, subject, subject + (b"\n\n" + body if body else b"") + b"\n", diff)


def _clean(text: bytes) -> bytes:
    return bytes(byte for byte in text if byte >= 32 and byte not in b"<>").strip() or b"nobody"


def _moment(date: bytes) -> bytes:
    try:
        found = email.utils.parsedate_to_datetime(date.decode("ascii"))
        return b"%d %s" % (max(int(found.timestamp()), 0), (found.strftime("%z") or "+0000").encode()[:5])
    except (ValueError, OverflowError):
        return b"0 +0000"


# -- without git: what `git am` would take -----------------------------------------------------------------


def fields_of(mail: Message) -> dict[str, str]:
    """The header fields, decoded. From, Subject and Date are spelled so, the others as they came."""
    return {
        name.title() if name.lower() in ("from", "subject", "date") else name: _decoded(value)
        for name, value in mail.raw_items()
    }


def split_said(said: bytes, *, charset: str | None) -> tuple[dict[str, str], str]:
    """The fields that a message begins with, which count instead of the header's, and the message without them."""
    lines = readable(said, charset).replace("\0", "").lstrip("\n").split("\n")
    found: dict[str, str] = {}
    last, at = "", 0
    for at, line in enumerate(lines):  # noqa: B007  (the message begins at the line that ends the loop)
        field = _FIELD.match(line)
        if last and line.startswith((" ", "\t")):
            found[last] += line
        elif field is not None and field[1].title() not in found:
            last = field[1].title()
            found[last] = field[2]
        else:
            break
    else:
        at = len(lines)
    return {name: _decoded(value) for name, value in found.items()}, "\n".join(lines[at:])


def readable(content: bytes, charset: str | None = None) -> str:
    """Text in the charset that it names, else in UTF-8, else in Latin-1, which every byte is."""
    for name in (charset, "utf-8"):
        try:
            return content.decode(name or "utf-8")
        except (LookupError, ValueError):
            continue
    return content.decode("latin-1")


def _decoded(value: str) -> str:
    raw = " ".join(line.strip() for line in value.split("\n"))
    text = readable(raw.encode("utf-8", "surrogateescape"))
    try:
        return str(make_header(decode_header(text)))
    except (MessageError, LookupError, ValueError):
        return text


def author_of(fields: Mapping[str, str]) -> bytes:
    """The author as git stores one: name, address, seconds, zone. What is missing is made up, so that git can."""
    name, address = _person(fields.get("From", "")[:_LONGEST])
    seconds, minutes = _seconds(fields.get("Date", ""))
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
    who = re.sub(r"[<>\n\0]", "", name or address).strip() or "unknown"
    where = re.sub(r"[<>\s\0]", "", address)
    return f"{who} <{where}> {seconds} {zone}".encode("utf-8", "replace")


def _person(text: str) -> tuple[str, str]:
    """Name and address, as git reads them: a comma in a name does not end it."""
    found = _BRACKETED.search(text) or _BARE.search(text)
    address = (found[1] or found[0].strip("<>")) if found else ""
    rest = f"{text[: found.start()]}{text[found.end() :]}" if found else text
    name = _QUOTED.sub(lambda quoted: re.sub(r"\\(.)", r"\1", quoted[1]), rest).strip()
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1]
    return ("" if "@" in name or len(name.encode("utf-8", "replace")) > _LONGEST_NAME else name), address


def _seconds(date: str) -> tuple[int, int]:
    """Seconds since 1970 and the zone's minutes; what is no date, or none that git can hold, is the beginning."""
    try:
        when = email.utils.parsedate_tz(date)
        seconds, minutes = (email.utils.mktime_tz(when), (when[9] or 0) // 60) if when else (0, 0)
    except (ValueError, OverflowError, TypeError):
        return 0, 0
    return (seconds, minutes) if 0 <= seconds < 1 << 40 and abs(minutes) <= _FARTHEST else (0, 0)


def message_of(fields: Mapping[str, str], said: str) -> bytes:
    """The commit's message: the subject without what mails put before it, and what is said."""
    subject = _PREFIXES.sub("", fields.get("Subject", "")).strip() or "(no subject)"
    text = said.strip("\n").rstrip()
    return (subject + (f"\n\n{text}" if text else "") + "\n").encode("utf-8", "replace")
