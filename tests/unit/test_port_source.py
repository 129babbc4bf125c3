"""How a change that is ported is called: in messages, as a patchset, and when it is typed again."""

from dataclasses import replace

from forkguard.core.names import PullNumber
from forkguard.core.porting import PullState, Source, SourceKind

REQUEST = Source(PullNumber(7), PullState.MERGED, SourceKind.HISTORY, "a title", (), "upstream")
PATCH = replace(REQUEST, pull=None, kind=SourceKind.PATCH, where="fix.patch", name="fix")


def test_a_request_is_called_by_its_number() -> None:
    assert (REQUEST.label, REQUEST.patchset, REQUEST.word) == ("#7", "7", "7")
    assert replace(REQUEST, name="mine").patchset == "mine"


def test_what_belongs_to_no_request_is_called_by_its_name_and_typed_as_it_was_found() -> None:
    assert (PATCH.label, PATCH.patchset, PATCH.word) == ("fix", "fix", "fix.patch")
