"""Lines of upstream's that a patch takes away without saying so."""

import pytest

from forkguard.core.fitting import Version
from forkguard.core.names import TreePath
from forkguard.core.patch_mail import parse_mail
from forkguard.core.patchset import Manifest, State
from forkguard.core.stack_check import unsaid_removals

NOTES = TreePath("docs/notes.txt")
THERE = {NOTES: Version("100644", b"one\ntwo\nthree\n")}
DIFF = (
    b"diff --git a/docs/notes.txt b/docs/notes.txt\n--- a/docs/notes.txt\n+++ b/docs/notes.txt\n"
    b"@@ -1,3 +1,2 @@\n one\n-two\n three\n"
)


def unsaid(fields: bytes = b"", message: bytes = b"Why.\n", *, removes: tuple[str, ...] = ()) -> list[object]:
    mail = parse_mail(b"Subject: x\n" + fields + b"\n" + message + b"---\n" + DIFF)
    return list(unsaid_removals(mail, Manifest(title="t", state=State.CARRIED, removes=removes), THERE))


def test_a_line_with_nothing_in_its_place_is_told_with_its_file() -> None:
    assert unsaid() == [(NOTES, 1)]
    assert unsaid(b"Origin: vendor\n") == [(NOTES, 1)]


@pytest.mark.parametrize("fields", [b"Origin: upstream, commit:ab\n", b"Origin: Backport, https://x\n"])
def test_a_patch_of_upstreams_says_what_upstream_says(fields: bytes) -> None:
    assert unsaid(fields) == []


def test_it_is_said_by_the_manifest_a_field_or_the_message() -> None:
    assert unsaid(removes=("docs/*",)) == []
    assert unsaid(removes=("src/*",)) == [(NOTES, 1)]
    assert unsaid(b"Removes: docs/notes.txt\n") == []
    assert unsaid(message=b"Take two out of docs/notes.txt.\n") == []
