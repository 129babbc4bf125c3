"""The base by content, against counting by brute force on made-up histories."""

from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.basematch import (
    Candidate,
    Change,
    candidates,
    closest_by_lines,
    contested_paths,
    parse_raw_log,
    tied_for_best,
)
from forkguard.core.names import BlobHash, CommitHash, TreePath

PATHS = [TreePath(name) for name in ("a.cpp", "b b.h", "c/d.md")]
Files = dict[TreePath, BlobHash]
blob_ids = st.sampled_from([BlobHash(letter * 40) for letter in "1234"])
file_sets = st.dictionaries(st.sampled_from(PATHS), blob_ids)
NONE = "0" * 40


def commit_id(number: int) -> CommitHash:
    return CommitHash(f"{number:040x}")


def raw_log(history: list[Files]) -> str:
    """`git log --raw`, newest first, of trees that are given oldest first."""
    blocks = []
    for number in reversed(range(len(history))):
        before, after = history[number - 1] if number else {}, history[number]
        rows = [
            f":100644 100644 {before.get(path, NONE)} {after.get(path, NONE)} M\t{path}"
            for path in PATHS
            if before.get(path) != after.get(path)
        ]
        blocks.append(f"commit {commit_id(number)}\n" + "".join(f"\n{row}" for row in rows) + "\n" * bool(rows))
    return "".join(blocks)


@given(st.lists(file_sets, min_size=1, max_size=8), file_sets)
def test_counting_backwards_is_the_same_as_comparing_every_tree(history: list[Files], fork: Files) -> None:
    found = candidates(fork=fork, tip=history[-1], log=raw_log(history))
    expected = [
        (commit_id(number), sum(fork.get(path) == blob for path, blob in history[number].items()))
        for number in reversed(range(len(history)))
    ]
    assert [(one.commit, one.equal) for one in found] == expected


@given(st.lists(file_sets, min_size=1, max_size=8), file_sets)
def test_tied_candidates_differ_in_contested_paths_only(history: list[Files], fork: Files) -> None:
    found = candidates(fork=fork, tip=history[-1], log=raw_log(history))
    tied = tied_for_best(found)
    assert {one.equal for one in tied} == {max(one.equal for one in found)}
    trees = {commit_id(number): tree for number, tree in enumerate(history)}
    contested = contested_paths(found, tied)
    for one in tied:
        for path in set(PATHS) - contested:
            assert trees[one.commit].get(path) == trees[tied[0].commit].get(path)


def test_the_raw_log_is_read() -> None:
    log = f"commit {commit_id(2)}\ncommit {commit_id(1)}\n\n:000000 100644 {NONE} {'1' * 40} A\ta b.cpp\n"
    assert list(parse_raw_log(log)) == [
        (commit_id(2), ()),
        (commit_id(1), (Change(TreePath("a b.cpp"), None, BlobHash("1" * 40)),)),
    ]
    assert list(parse_raw_log("")) == []


def three() -> list[Candidate]:
    return [Candidate(commit_id(number), 5, ()) for number in (3, 2, 1)]


def test_among_equals_most_common_lines_win_then_the_newest() -> None:
    path = PATHS[0]
    texts = {3: b"a\nb\nc\nd\n", 2: b"a\nb\nc\n", 1: b"a\nz\n"}
    best = closest_by_lines(
        three(), fork=lambda _: b"a\nb\nc\nours\n", theirs=lambda commit, _: texts[int(commit, 16)],
        paths=frozenset({path}),
    )  # fmt: skip
    assert best.commit == commit_id(2), "a line more that the fork has not counts against it"
    same = closest_by_lines(three(), fork=lambda _: b"", theirs=lambda _c, _p: b"", paths=frozenset({path}))
    assert same.commit == commit_id(3)


def test_nothing_is_contested_without_a_tie() -> None:
    assert contested_paths(three(), three()[:1]) == frozenset()
    assert tied_for_best([]) == []


def test_not_more_than_32_are_tied() -> None:
    many = [Candidate(commit_id(number), 1, ()) for number in range(40)]
    assert tied_for_best(many) == many[:32]
