"""Resolutions as text: what is written is read back, and what is none is refused."""

from dataclasses import replace

import pytest

from forkguard.core.names import TreePath
from forkguard.core.resolutions import Resolution, dump_resolution, parse_resolution, resolution_name

SIDES = ("a" * 40, "b" * 40, "-")
DECIDED = Resolution(TreePath("src/run.sh"), SIDES, "100755", "27383", b"one\n\ntwo\n")
TEXT = b"""\
# A conflict that was resolved once; forkguard uses it again where the same three sides meet.
path: src/run.sh
patchset: 27383
base: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
fork: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
upstream: -
mode: 100755

one

two
"""


def test_the_text() -> None:
    assert dump_resolution(DECIDED) == TEXT
    removed = replace(DECIDED, mode="", content=None)
    assert dump_resolution(removed) == TEXT.split(b"mode")[0] + b"removed: yes\n"


@pytest.mark.parametrize(
    "decided",
    [
        DECIDED,
        replace(DECIDED, mode="100644", content=b""),
        replace(DECIDED, mode="", content=None),
        replace(DECIDED, path=TreePath("a: b\udcff.cpp"), patchset=""),
    ],
)
def test_what_is_written_is_read_back(decided: Resolution) -> None:
    assert parse_resolution(dump_resolution(decided)) == decided


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"path: src/run.sh\n", b""),
        (b"base: ", b"bass: "),
        (b"upstream: ", b"# upstream: "),
        (b"100755", b"120000"),
        (b"mode: 100755\n", b""),
        (b"two", b"<<<<<<< ours\ntwo"),
        (b"mode: 100755\n\none\n\ntwo\n", b"mode: 100755\n"),
    ],
)
def test_what_is_no_resolution(old: bytes, new: bytes) -> None:
    assert TEXT.count(old) == 1
    assert parse_resolution(TEXT.replace(old, new)) is None


def test_a_conflict_marker_is_never_kept() -> None:
    with pytest.raises(ValueError, match="a conflict marker is left"):
        dump_resolution(replace(DECIDED, content=b"<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"))


def test_a_file_is_named_after_its_path_and_the_three_sides() -> None:
    names = {
        resolution_name(DECIDED.path, SIDES),
        resolution_name(DECIDED.path, ("c" * 40, *SIDES[1:])),
        resolution_name(TreePath("other/run.sh"), SIDES),
    }
    assert len(names) == 3
    assert {name.rpartition(".")[0] for name in names} == {"run.sh"}
