"""Text from strangers (subjects, file names, URLs) made safe for a terminal and for JSON, and small words."""

import json
import re

_HALVES = re.compile("[\ud800-\udfff]")
"""What a byte that is no UTF-8 is in our strings: JSON can name it, and strict readers refuse it."""

_FOREIGN = re.compile(r"[^\x00-\x7e]+")


def printable(text: str) -> str:
    """The text on one line, without terminal escapes: what cannot be shown becomes U+FFFD.

    >>> printable("a\\x1b[31mb")
    'a\\ufffd[31mb'
    """
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def json_text(document: object) -> str:
    """A document as JSON, in ASCII: no terminal control leaves it. Bytes that were no UTF-8 are U+FFFD."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    whole = _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)
    return _FOREIGN.sub(lambda found: json.dumps(found[0])[1:-1], whole)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "commit"), counted(2, "patch", "patches")
    ('1 commit', '2 patches')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
