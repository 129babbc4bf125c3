"""Text from strangers (subjects, file names, URLs) made safe for a terminal, and small words."""


def printable(text: str) -> str:
    """The text on one line, without terminal escapes: what cannot be shown becomes U+FFFD.

    >>> printable("a\\x1b[31mb")
    'a\\ufffd[31mb'
    """
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "commit"), counted(2, "patch", "patches")
    ('1 commit', '2 patches')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
