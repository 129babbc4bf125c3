"""Later commits about a request, and the builds around a snapshot's change."""

from forkguard.core.commits import Commit
from forkguard.core.follow_ups import build_pairs, follow_ups, is_build
from forkguard.core.names import CommitHash, PullNumber


def commit(id_: str, subject: str) -> Commit:
    return Commit(CommitHash(id_), "2026-08-01T00:00:00+00:00", subject)


BEFORE = commit("0", "prepare (#6)")
MERGED = commit("1", "spec : drafts (#7)")
FIX = commit("2", "fix drafts (#9)")
REVERT = commit("3", 'Revert "spec : drafts (#7)" (#12)')


def test_fixes_and_reverts_after_the_merge_are_told_oldest_first() -> None:
    messages = [(REVERT, ""), (FIX, "Regression of #7 and of #6."), (MERGED, ""), (BEFORE, "for #7")]
    merged = {PullNumber(7): MERGED.id, PullNumber(6): BEFORE.id}
    assert follow_ups(messages, merged) == {PullNumber(7): (FIX, REVERT), PullNumber(6): (FIX,)}


def test_a_longer_number_is_another_request() -> None:
    assert follow_ups([(commit("2", "x"), "see #71"), (MERGED, "")], {PullNumber(7): MERGED.id}) == {}


def test_what_came_before_the_merge_is_no_follow_up() -> None:
    assert follow_ups([(MERGED, ""), (BEFORE, "for #7")], {PullNumber(7): MERGED.id}) == {}


def test_only_a_bare_tag_is_a_build() -> None:
    assert [is_build(commit("1", text)) for text in ("b10549", "b1054 and more", "build", "b12")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_snapshot_lies_between_its_build_and_the_one_before_whatever_came_between() -> None:
    history = [commit("3", "b10600"), commit("2", "b10549"), MERGED, commit("0", "b10531")]
    assert build_pairs(history) == {"3": ("b10549", "b10600"), "2": ("b10531", "b10549")}
