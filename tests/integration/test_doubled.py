"""Changes onto forks that hold them already, elsewhere: git merges them cleanly, and holds them twice."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forkguard.adapters.git import GitRepository
from forkguard.adapters.replay_bench import ReplayBench
from forkguard.adapters.workbench import Workbench
from forkguard.core.hunks import Outcome
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.porting import Pick
from forkguard.workflows.apply_change import Applied, apply_pick
from tests.support.repos import GitFolder, frozen_environment, new_repository

NAME = TreePath("src/a.cpp")


def apply(
    folder: GitFolder, base: str, upstream: str, fork: str, *, exchanged: bool = False, clean: bool = True
) -> Applied:
    """The way from `base` to `upstream`, applied to `fork`; git alone must merge it cleanly, or with a conflict."""
    before = folder.commit("base", {NAME: base})
    after = folder.commit("upstream", {NAME: upstream})
    folder.git("checkout", "-q", before)
    folder.commit("fork", {NAME: fork})
    ours = Workbench(GitRepository(folder.path), folder.path.parent / "cache")
    bench = ReplayBench(GitRepository(folder.path), folder.path.parent / "cache") if exchanged else ours
    tree = ours.commit(CommitHash(folder.git("rev-parse", "HEAD"))).tree
    pick = Pick(CommitHash(after), CommitHash(before), "a change")
    assert merges(base, upstream, fork) is clean, "what git alone makes of it"
    return apply_pick(bench, pick, ours=tree, theirs_label="upstream #7")


def merges(base: str, upstream: str, fork: str) -> bool:
    with tempfile.TemporaryDirectory() as place:
        for name, text in (("base", base), ("upstream", upstream), ("fork", fork)):
            (Path(place) / name).write_text(text)
        words = ["git", "merge-file", "-p", "-q", "fork", "base", "upstream"]
        return not subprocess.run(
            words, cwd=place, env=frozen_environment(), capture_output=True, check=False
        ).returncode


def content(folder: GitFolder, tree: str) -> str:
    return folder.git("cat-file", "-p", f"{tree}:{NAME}") + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    return new_repository(tmp_path / "repo")


FUNCTIONS = "".join(f"int f{number}(int a) {{\n    return a + {number};\n}}\n\n" for number in range(6))
HELPER = "static int helper(int x) {\n    return x;\n}\n\n"


def placed(text: str, before: str, new: str) -> str:
    assert text.count(before) == 1
    return text.replace(before, new + before)


def test_a_function_that_the_fork_has_word_for_word_is_left_out(folder: GitFolder) -> None:
    upstream = placed(FUNCTIONS, "int f1(", HELPER).replace("return a + 5;", "return helper(a);")
    fork = placed(FUNCTIONS, "int f3(", HELPER)

    applied = apply(folder, FUNCTIONS, upstream, fork)

    assert [hunk.outcome for hunk in applied.hunks] == [Outcome.ALREADY_PRESENT, Outcome.OFFSET]
    assert applied.hunks[0].detail == "function helper is there already, at line 13 of the fork's file"
    assert applied.tree is not None
    assert content(folder, applied.tree).rstrip() == fork.replace("return a + 5;", "return helper(a);").rstrip()


def test_a_change_of_which_nothing_is_left_is_there_already(folder: GitFolder) -> None:
    applied = apply(folder, FUNCTIONS, placed(FUNCTIONS, "int f1(", HELPER), placed(FUNCTIONS, "int f5(", HELPER))

    assert applied.tree == folder.git("rev-parse", "HEAD^{tree}")
    assert [hunk.outcome for hunk in applied.hunks] == [Outcome.ALREADY_PRESENT]


def test_a_function_of_that_name_with_another_body_is_a_conflict(folder: GitFolder) -> None:
    fork = placed(FUNCTIONS, "int f5(", HELPER.replace("return x;", "return x + 1;"))

    applied = apply(folder, FUNCTIONS, placed(FUNCTIONS, "int f1(", HELPER), fork)

    assert applied.tree is None
    assert applied.merged is not None
    assert [(stage.path, stage.number) for stage in applied.merged.stages] == [(NAME, 1), (NAME, 2), (NAME, 3)]
    (conflict,) = applied.conflicts
    assert conflict.theirs == HELPER.rstrip("\n") + "\n"
    assert conflict.twice is not None
    assert (conflict.line, conflict.twice.twin, conflict.twice.own) == (5, 29, 21)
    assert [hunk.outcome for hunk in applied.hunks] == [Outcome.CONFLICT]
    assert applied.hunks[0].detail == conflict.reason
    shown = content(folder, applied.merged.tree).splitlines()
    assert (shown[4], shown[28]) == ("<<<<<<< fork", "static int helper(int x) {")


def test_left_out_and_conflict_in_one_file(folder: GitFolder) -> None:
    other = "#define SIZE 3\n"
    upstream = placed(placed(FUNCTIONS, "int f1(", HELPER), "int f2(", other)
    fork = FUNCTIONS + HELPER + other.replace("3", "4")

    applied = apply(folder, FUNCTIONS, upstream, fork)

    assert [hunk.outcome for hunk in applied.hunks] == [Outcome.CONFLICT]
    assert applied.hunks[0].detail.startswith("this define would be there twice: upstream brings it here")
    (conflict,) = applied.conflicts
    assert conflict.theirs == other
    assert applied.merged is not None
    assert content(folder, applied.merged.tree).count("static int helper") == 1


def test_a_patch_that_goes_to_upstream_has_the_first_side(folder: GitFolder) -> None:
    patch = placed(FUNCTIONS, "int f1(", HELPER)
    upstream = placed(FUNCTIONS, "int f5(", HELPER.replace("return x;", "return x + 1;"))

    applied = apply(folder, FUNCTIONS, patch, upstream, exchanged=True)

    (conflict,) = applied.conflicts
    assert (conflict.ours, conflict.theirs) == (HELPER.rstrip("\n") + "\n", "")
    assert "the patch brings it here, upstream has it at line 29" in conflict.reason
    assert applied.merged is not None
    sides = [stage.blob for stage in applied.merged.stages]
    assert folder.git("cat-file", "-p", sides[1]) + "\n" == patch.rstrip("\n") + "\n"
    assert folder.git("cat-file", "-p", sides[2]) + "\n" == upstream.rstrip("\n") + "\n"


def test_a_double_beside_a_conflict_is_marked_too(folder: GitFolder) -> None:
    base = FUNCTIONS
    upstream = placed(base, "int f1(", HELPER).replace("return a + 3;", "return a - 3;")
    fork = placed(base, "int f5(", HELPER.replace("return x;", "return x + 1;")).replace("a + 3;", "a * 3;")

    applied = apply(folder, base, upstream, fork, clean=False)

    assert [conflict.twice is not None for conflict in applied.conflicts] == [True, False]
    assert {hunk.outcome for hunk in applied.hunks} == {Outcome.CONFLICT}
    first = applied.conflicts[0]
    assert applied.merged is not None
    assert first.twice is not None
    shown = content(folder, applied.merged.tree).splitlines()
    assert shown[first.twice.twin - 1] == "static int helper(int x) {"


def test_a_double_inside_of_a_conflict_is_left_to_who_decides_that(folder: GitFolder) -> None:
    base = "void run(int cur) {\n" + "".join(f"    step{number}(cur);\n" for number in range(9)) + "}\n"
    upstream = placed(base, "    step1(", "    extra(cur);\n").replace("step6(cur)", "step6(cur, 1)")
    fork = base.replace("    step6(cur);\n", "    extra(cur);\n    step6(cur, 2);\n")

    applied = apply(folder, base, upstream, fork, clean=False)

    assert [(conflict.twice, "extra" in conflict.ours) for conflict in applied.conflicts] == [(None, True)]


# -- whatever the fork has already -------------------------------------------------------------------------

UNITS = {
    "function": ("int f1(", "int f3(", "int f5(", "static int extra(int x) {\n    return x * 3;\n}\n\n"),
    "define": ("int f1(", "int f3(", "int f5(", "#define EXTRA 7\n\n"),
    "case": ("        case 1:", "        case 4:", "        case 7:", "        case extra():\n"),
    "row": ('    { K1, "', '    { K4, "', '    { K7, "', '    { EXTRA, "extra" },\n'),
    "enumerator": ("    E1,", "    E4,", "    E7,", "    EXTRA,\n"),
    "statement": ("    step1(", "    step4(", "    step7(", "    extra(cur);\n"),
    "member": ("    int m1;", "    int m4;", "    int m7;", "    float extra;\n"),
}
FILE = (
    FUNCTIONS
    + "bool is(int x) {\n    switch (x) {\n"
    + "".join(f"        case {number}:\n" for number in range(9))
    + "            return true;\n    }\n    return false;\n}\n\n"
    + "static const std::map<int, const char *> NAMES = {\n"
    + "".join(f'    {{ K{number}, "{number}" }},\n' for number in range(9))
    + "};\n\nenum kinds {\n"
    + "".join(f"    E{number},\n" for number in range(9))
    + "};\n\nvoid run(int cur) {\n"
    + "".join(f"    step{number}(cur);\n" for number in range(9))
    + "}\n\nstruct params {\n"
    + "".join(f"    int m{number};\n" for number in range(9))
    + "};\n"
)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp(f"doubled{number}") for number in range(1000))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kinds=st.lists(st.sampled_from(sorted(UNITS)), min_size=1, max_size=3, unique=True),
    spots=st.permutations([0, 1, 2]),
    as_is=st.booleans(),
    exchanged=st.booleans(),
)
def test_nothing_is_applied_a_second_time(
    *, places: Iterator[Path], kinds: list[str], spots: list[int], as_is: bool, exchanged: bool
) -> None:
    upstream = fork = FILE
    for kind in kinds:
        unit = UNITS[kind][3]
        upstream = placed(upstream, UNITS[kind][spots[0]], unit)
        own = unit if as_is else unit.replace("3", "4").replace('"extra"', '"mine"').replace(" 7", " 8")
        fork = placed(fork, UNITS[kind][spots[1]], own)
    folder = new_repository(next(places) / "repo")

    applied = apply(folder, FILE, upstream, fork, exchanged=exchanged)

    if applied.tree is not None:
        assert content(folder, applied.tree).count("xtra") + content(folder, applied.tree).count("XTRA") == (
            fork.count("xtra") + fork.count("XTRA")
        )
        assert {hunk.outcome for hunk in applied.hunks} == {Outcome.ALREADY_PRESENT}
    else:
        assert applied.merged is not None
        assert applied.merged.twice
        assert {hunk.outcome for hunk in applied.hunks} <= {Outcome.ALREADY_PRESENT, Outcome.CONFLICT}
