"""docs/troubleshooting.md: each example is what the log parser makes of it, and every form and class has a row."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forkguard.core import logforms, logrules
from forkguard.core.determinism import Difference
from forkguard.core.gate import Failure
from forkguard.core.logfacts import Fallback, LoadProblem
from forkguard.core.logforms import AbortKind, Line
from forkguard.core.serverlog import parse

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
_LOG_TABLE = "the log says"


@dataclass(frozen=True)
class Row:
    """A row of one of the page's tables: its log lines (none where the symptom is seen from outside) and class."""

    lines: tuple[str, ...]
    classes: tuple[str, ...]


def rows() -> Iterator[Row]:
    """All rows of the page's tables."""
    header = ""
    for text in PAGE.splitlines():
        if not text.startswith("|"):
            header = ""
            continue
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if not header:
            header = cells[0]
        elif set(cells[0]) != {"-"}:
            lines = re.findall(r"`([^`]+)`", cells[0]) if header == _LOG_TABLE else ()
            yield Row(tuple(lines), tuple(re.findall(r"`([^`]+)`", cells[1])))


ROWS = tuple(rows())
EXAMPLES = [(line, row.classes[0]) for row in ROWS for line in row.lines]


def classes_of(text: str) -> set[str]:
    """Everything that the program makes of one line of a log."""
    told = parse(text.encode())
    return {
        *(str(one.kind) for one in told.aborts),
        *(str(one.problem) for one in told.load_errors),
        *(str(one.kind) for one in told.fallbacks),
        *(["out-of-memory"] if told.out_of_memory else []),
        *(["acceptance"] if told.acceptances else []),
        *(["cached-prompt"] if told.cached_repeats else []),
        *(["harmless"] if logforms.harmless(Line("", None, text)) else []),
    }


def forms() -> dict[str, re.Pattern[str]]:
    """Every form of a telling line that the program knows, one for each alternative of a pattern."""
    whole = [
        *(pattern for _, pattern in logrules._LOAD),
        *(pattern for _, pattern in logrules._FALLBACKS),
        *(logrules._OUT_OF_MEMORY, logrules._OFFLOADED, logrules._ACCEPTANCE, logforms._HARMLESS, logforms._CXX),
        *(logforms._LIBC_ASSERT, logforms._PLACED, logforms._OLD_ASSERT, logforms._BARE_ASSERT, logforms._HEAP),
        *(logforms._SANITIZER, logforms._SIGNAL),
    ]
    return {part: re.compile(part, pattern.flags) for pattern in whole for part in alternatives(pattern.pattern)}


def alternatives(pattern: str) -> list[str]:
    """The alternatives of a regular expression outside of all groups.

    >>> alternatives("a(?:b|c)|d")
    ['a(?:b|c)', 'd']
    """
    parts, depth = [""], 0
    for piece in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


@pytest.mark.parametrize(("line", "kind"), EXAMPLES, ids=[line for line, _ in EXAMPLES])
def test_an_example_is_of_the_class_that_its_row_says(line: str, kind: str) -> None:
    assert kind in classes_of(line)


@pytest.mark.parametrize("form", forms().items(), ids=lambda form: form[0])
def test_every_form_that_the_program_knows_has_an_example(form: tuple[str, re.Pattern[str]]) -> None:
    assert any(form[1].search(line) for line, _ in EXAMPLES), form[0]


def test_every_class_has_a_row() -> None:
    named = {kind for row in ROWS for kind in row.classes}
    for enumeration in (AbortKind, LoadProblem, Fallback, Failure, Difference):
        assert {str(member) for member in enumeration} <= named, enumeration.__name__
    assert {"no-acceptance-line", "none-accepted", "slower-than-no-draft"} <= named


def test_a_line_that_is_no_trouble_has_no_class() -> None:
    assert classes_of("main: server is listening on http://127.0.0.1:8080 - starting the main loop") == set()


def test_forms_are_taken_apart_outside_of_groups_alone() -> None:
    assert alternatives(r"a(?:b|c)|[|]d\||e") == ["a(?:b|c)", r"[|]d\|", "e"]
