"""Patches as mails: who wrote them, what they say, what they change."""

import email.utils
from dataclasses import dataclass


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
