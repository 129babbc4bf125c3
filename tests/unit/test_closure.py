"""Follow-ups of a request: what a later message or a later change must hold to be one."""

import pytest

from forkguard.core.closure import later_commits
from forkguard.core.commits import Commit
from forkguard.core.fixes import FileChange
from forkguard.core.names import CommitHash, PullNumber, TreePath

MERGED = CommitHash("a" * 40)
PATH = TreePath("src/a.cpp")
LINE, OTHER, SHORT = "int x = 1", "int y = 2", "x = 1"


def found(subject: str, body: str = "", *, pull: int | None = 7, removed: tuple[str, ...] = (),
          added: tuple[str, ...] = (), path: TreePath = PATH) -> list[str]:  # fmt: skip
    later = Commit(CommitHash("b" * 40), "2026-01-02", subject)
    follow_ups = later_commits(
        [(later, body)],
        pull=None if pull is None else PullNumber(pull),
        commits=[CommitHash("c" * 40), MERGED],
        changes={later.id: [FileChange(path, removed, added)]},
        added={PATH: frozenset({LINE, OTHER, SHORT})},
    )
    return [one.why for one in follow_ups]


@pytest.mark.parametrize(
    ("subject", "body", "why"),
    [
        ('Revert "x" (#9)', f"This reverts commit {MERGED}.", "reverts it"),
        ("x : undo", f"This reverts commit {'d' * 40}.", None),
        ('Revert "x (#7)" (#9)', "", "reverts it"),
        ('Revert "x (#8)" (#9)', "", None),
        ("x : go on after #7 (#9)", "", "names #7"),
        ("x : go on (#9)", "Since #7.", "names #7"),
        ("x : go on (#9)", "Since #77.", None),
        ("x : the request itself (#7)", "It is #7.", None),
    ],
)
def test_a_message_that_names_the_request_is_a_follow_up(subject: str, body: str, why: str | None) -> None:
    assert found(subject, body) == ([f"{why}: {subject}"] if why else [])


def test_without_a_request_only_a_reverted_commit_is_named() -> None:
    assert found('Revert "x (#7)"', pull=None) == []
    assert found("x", f"This reverts commit {MERGED}.", pull=None) == ["reverts it: x"]


@pytest.mark.parametrize(
    ("removed", "added", "path", "count"),
    [
        ((LINE,), (), PATH, 1),
        ((LINE, OTHER), (), PATH, 2),
        ((LINE, OTHER), (OTHER,), PATH, 1),
        ((SHORT,), (), PATH, 0),
        (("int z = 3",), (), PATH, 0),
        ((LINE,), (), TreePath("src/b.cpp"), 0),
        ((), (LINE,), PATH, 0),
    ],
)
def test_a_change_of_the_requests_own_lines_is_a_follow_up(
    removed: tuple[str, ...], added: tuple[str, ...], path: TreePath, count: int
) -> None:
    expected = [f"changes {count} of its lines: x"] if count else []
    assert found("x", removed=removed, added=added, path=path) == expected


def test_follow_ups_come_oldest_first_with_their_request() -> None:
    newest = [Commit(CommitHash(c * 40), "2026-01-02", f"x after #7 (#{n})") for c, n in (("e", 12), ("d", 11))]
    follow_ups = later_commits([(one, "") for one in newest], pull=PullNumber(7), commits=[], changes={}, added={})
    assert [(one.commit, one.pull) for one in follow_ups] == [("d" * 40, 11), ("e" * 40, 12)]
