"""`forkguard port`: what a change needs, what came after it, what it must not bring, and what a person decided."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.support import mini_llama
from tests.support.porting import ARCH, HERON, Desk, branch_of_requests, edit, make_conflict, make_desk, outcomes
from tests.support.repos import GitFolder, MiniHistory, copy_of
from tests.support.snapshot import fork_as_it_is

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/port.json").read_text())
README = "README.md"


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


def text_of(history: MiniHistory, name: str) -> str:
    return history.upstream.text(name, ref=history.base) + "\n"


# -- hazards that a port would bring ---------------------------------------------------------------------


def split_request(history: MiniHistory) -> list[str]:
    """The switch in one request, the snapshot writes in a later one."""
    new = mini_llama.draft_support()
    return branch_of_requests(
        history, ("switch alone (#301)", {ARCH: new[ARCH]}), ("snapshots (#302)", {HERON: new[HERON]})
    )


def test_a_switch_case_without_snapshot_writes_is_refused(desk: Desk, history: MiniHistory) -> None:
    split_request(history)
    before = fork_as_it_is(history.fork.path)

    document = desk.json("port", "301", status=1)

    jsonschema.validate(document, SCHEMA)
    assert document["status"] == "blocked"
    refused = [h for h in document["hazards"] if h["id"] in document["blocked_by"]]
    assert {(h["arch"], h["severity"], h["also_upstream"]) for h in refused} == {
        ("heron", "corruption", False),
        ("heronmoe", "corruption", False),
    }
    assert (document["branch"], document["commits"]) == (None, [])
    assert history.fork.git("branch", "--list", "forkguard/*") == ""
    assert desk.stack_files() == {}
    assert not desk.journal.exists()
    assert fork_as_it_is(history.fork.path) == before


def test_force_ports_it_and_says_the_hazard(desk: Desk, history: MiniHistory) -> None:
    split_request(history)

    document = desk.json("port", "301", "--force", status=0)

    assert document["status"] == "applied"
    assert len(document["blocked_by"]) == 2


def test_a_hazard_that_was_there_before_does_not_block(desk: Desk, history: MiniHistory) -> None:
    split_request(history)
    history.fork.commit("ours: the switch alone", {ARCH: mini_llama.draft_support()[ARCH]})
    branch_of_requests(history, ("a word (#303)", {HERON: "// a bird\n" + text_of(history, HERON)}))

    document = desk.json("port", "303", status=0)

    assert document["blocked_by"] == []
    assert [h["arch"] for h in document["hazards"] if h["severity"] == "corruption"]


def test_refused_while_going_on_keeps_the_worktree(desk: Desk, history: MiniHistory) -> None:
    split_request(history)
    edit(
        history,
        ARCH,
        "case LLM_ARCH_OTTER:\n            return true;",
        "case LLM_ARCH_OTTER: // us\n            return true;",
    )
    place = Path(desk.json("port", "301", status=1)["worktree"])
    (place / ARCH).write_text(mini_llama.draft_support()[ARCH])

    refused = desk.json("port", "--continue", status=1)
    assert (refused["status"], refused["worktree"]) == ("blocked", str(place))
    done = desk.json("port", "--continue", "--force", status=0)

    assert done["status"] == "applied"
    assert desk.checkouts == []


# -- what came after ---------------------------------------------------------------------------------------


def test_reverts_fixes_and_later_edits_are_follow_ups(desk: Desk, history: MiniHistory) -> None:
    base = text_of(history, README)
    line = "heron talks to every draft there is\n"
    commits = branch_of_requests(
        history,
        ("README : talk (#301)", {README: base + line}),
        ("unrelated (#302)", {"a.txt": "a\n"}),
        ("say less, follow-up to #301 (#303)", {"b.txt": "b\n"}),
        ('Revert "README : talk (#301)" (#304)', {README: base}),
        ("mentions #3010 only (#305)", {"c.txt": "c\n"}),
    )

    document = desk.json("port", "301", status=0)

    assert [(f["pr"], f["commit"], f["why"].partition(":")[0]) for f in document["follow_ups"]] == [
        (303, commits[2], "names #301"),
        (304, commits[3], "reverts it"),
    ]
    shown = (desk.path / "patchsets/301/patchset.toml").read_text()
    assert shown.count("[[follow-ups]]") == 2
    assert commits[3] in shown
    assert desk.json("port", "301", status=0)["follow_ups"] == document["follow_ups"]
    assert (desk.path / "patchsets/301/patchset.toml").read_text() == shown


def test_a_commit_that_changes_its_lines_is_a_follow_up(desk: Desk, history: MiniHistory) -> None:
    heron = text_of(history, HERON)
    added = heron.replace("    res->t_embd = cur;\n", "    keep(cur, 17, n_layer);\n    res->t_embd = cur;\n")
    mended = added.replace("keep(cur, 17, n_layer);", "keep(cur, 18, n_layer);")
    commits = branch_of_requests(history, ("keep (#301)", {HERON: added}), ("other width (#302)", {HERON: mended}))

    document = desk.json("port", "301", status=0)

    (follow_up,) = document["follow_ups"]
    assert (follow_up["commit"], follow_up["why"]) == (commits[1], "changes 1 of its lines: other width (#302)")


# -- what it needs -----------------------------------------------------------------------------------------


def needy_requests(history: MiniHistory) -> list[str]:
    """Request 303 uses what 301 and 302 brought."""
    heron = text_of(history, HERON)
    uses = heron.replace("    res->t_embd = cur;\n", "    keep_rows(cur, WIDEST_ROW);\n    res->t_embd = cur;\n")
    return branch_of_requests(
        history,
        ("rows : keep some (#301)", {"src/rows.h": "void keep_rows(int * rows, int n);\n"}),
        ("rows : a limit (#302)", {"src/limits.h": "#define WIDEST_ROW 4\n"}),
        ("heron : keep rows (#303)", {HERON: uses}),
    )


def test_names_that_the_fork_lacks_are_named_with_who_brought_them(desk: Desk, history: MiniHistory) -> None:
    commits = needy_requests(history)

    document = desk.json("port", "303", "--dry-run", status=0)

    jsonschema.validate(document, SCHEMA)
    assert document["prerequisites"] == [
        {"symbol": "keep_rows", "path": HERON, "commit": commits[0], "pr": 301},
        {"symbol": "WIDEST_ROW", "path": HERON, "commit": commits[1], "pr": 302},
    ]


def test_what_it_needs_is_ported_first(desk: Desk, history: MiniHistory) -> None:
    needy_requests(history)

    document = desk.json("port", "303", "--with-prerequisites", status=0)

    jsonschema.validate(document, SCHEMA)
    assert [(one["pr"], one["status"], one["branch"]) for one in document["before"]] == [
        (301, "applied", "forkguard/301"),
        (302, "applied", "forkguard/302"),
    ]
    assert document["prerequisites"] == []
    fork = history.fork
    assert fork.git("log", "--format=%s", "production..forkguard/303").splitlines() == [
        "heron : keep rows (#303)",
        "rows : a limit (#302)",
        "rows : keep some (#301)",
    ]
    assert (desk.path / "patchsets/series").read_text() == "301\n302\n303\n"
    again = desk.json("port", "303", "--with-prerequisites", status=0)
    assert again["commits"] == document["commits"]


def test_the_plan_of_what_it_needs(desk: Desk, history: MiniHistory) -> None:
    needy_requests(history)
    before = everything_below(history.fork.path)

    document = desk.json("port", "303", "--with-prerequisites", "--dry-run", status=0)

    assert [(one["pr"], one["status"], one["branch"]) for one in document["before"]] == [
        (301, "applied", None),
        (302, "applied", None),
    ]
    assert everything_below(history.fork.path) == before
    assert desk.stack_files() == {}


def test_a_prerequisite_that_conflicts_stops_the_rest_until_it_is_resolved(desk: Desk, history: MiniHistory) -> None:
    needy_requests(history)
    history.fork.commit("ours: limits", {"src/limits.h": "#define OUR_LIMIT 5\n"})

    stopped = desk.json("port", "303", "--with-prerequisites", status=1)
    assert (stopped["pr"], stopped["status"], [one["pr"] for one in stopped["before"]]) == (302, "conflict", [301])
    (Path(stopped["worktree"]) / "src/limits.h").write_text("#define OUR_LIMIT 5\n#define WIDEST_ROW 4\n")
    desk.json("port", "--continue", status=0)
    document = desk.json("port", "303", "--with-prerequisites", status=0)

    assert document["before"][1]["hunks"][0]["detail"].startswith("resolved as before: resolutions/")
    assert "OUR_LIMIT" in history.fork.text("src/limits.h", ref="forkguard/303")


def test_names_that_the_change_brings_itself_are_no_prerequisites(desk: Desk, history: MiniHistory) -> None:
    heron = text_of(history, HERON)
    uses = heron.replace("    res->t_embd = cur;\n", "    keep_rows(cur, 1);\n    res->t_embd = cur;\n")
    files = {"src/rows.h": "void keep_rows(int * rows, int n);\n", HERON: uses}
    branch_of_requests(history, ("heron : keep rows (#301)", files))

    assert desk.json("port", "301", status=0)["prerequisites"] == []


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("expected", ["applied", "conflict"])
def test_a_dry_run_writes_nothing(desk: Desk, history: MiniHistory, expected: str) -> None:
    if expected == "conflict":
        make_conflict(history)
    before = everything_below(history.fork.path)

    document = desk.json("port", "201", "--dry-run", status=int(expected == "conflict"))

    assert (document["dry_run"], document["branch"], document["commits"]) == (True, None, [])
    assert document["status"] == expected
    assert everything_below(history.fork.path) == before
    assert desk.stack_files() == {}
    assert not desk.journal.exists()
    assert desk.checkouts == []


def test_a_dry_run_leaves_a_port_in_progress_alone(desk: Desk, history: MiniHistory) -> None:
    make_conflict(history)
    desk.json("port", "201", status=1)
    before = desk.journal.read_bytes()

    desk.json("port", "201", "--dry-run", status=1)

    assert desk.journal.read_bytes() == before
    assert len(desk.checkouts) == 1


# -- what a person decides ---------------------------------------------------------------------------------


def resolved(history: MiniHistory) -> str:
    return mini_llama.draft_support()[HERON].replace("state_slot(il, slot)", "own_slot(il, slot)")


def test_a_conflict_shows_who_wrote_both_sides(desk: Desk, history: MiniHistory) -> None:
    ours = make_conflict(history)

    (conflict,) = desk.json("port", "201", status=1)["conflicts"]

    first = history.upstream.git("rev-list", "--reverse", "master").splitlines()[0]
    assert [row["commit"] for row in conflict["fork_log"]] == [ours]
    assert [(row["commit"], row["pr"]) for row in conflict["upstream_log"]] == [(first, 101)]
    assert desk.run("port", "--abort").status == 0
    shown = desk.run("port", "201").out
    assert f"    fork     by {ours[:10]} ours: an edit" in shown.splitlines()


def test_a_line_that_the_fork_removed_names_the_commit(desk: Desk, history: MiniHistory) -> None:
    gone = edit(history, HERON, mini_llama.SINGLE_WRITE, "", subject="ours: no writes")

    (conflict,) = desk.json("port", "201", status=1)["conflicts"]

    assert conflict["ours"] == ""
    assert [row["commit"] for row in conflict["fork_log"]] == [gone]


def test_what_was_resolved_once_is_used_again(tmp_path: Path, history: MiniHistory) -> None:
    make_conflict(history)
    desk = make_desk(tmp_path)
    place = Path(desk.json("port", "201", status=1)["worktree"])
    (place / HERON).write_text(resolved(history))
    first = desk.json("port", "--continue", status=0)
    (kept,) = (desk.path / "resolutions").iterdir()
    history.fork.git("branch", "-D", "forkguard/201")

    again = desk.json("port", "201", status=0)

    assert again["commits"] == first["commits"]
    assert again["hunks"][-1]["detail"] == f"resolved as before: resolutions/{kept.name}"
    text = kept.read_text()
    assert f"path: {HERON}\n" in text
    assert "<<<<<<<" not in text
    assert text.endswith(resolved(history))


def test_a_resolution_of_other_sides_is_not_used(tmp_path: Path, history: MiniHistory) -> None:
    make_conflict(history)
    desk = make_desk(tmp_path)
    place = Path(desk.json("port", "201", status=1)["worktree"])
    (place / HERON).write_text(resolved(history))
    desk.json("port", "--continue", status=0)
    history.fork.git("branch", "-D", "forkguard/201")
    edit(history, HERON, "own_slot(il)", "own_slot(il, 1)")

    assert desk.json("port", "201", status=1)["status"] == "conflict"


@pytest.mark.parametrize("damage", ["<<<<<<< fork\n", "\x00"])
def test_a_damaged_resolution_is_not_used(tmp_path: Path, history: MiniHistory, damage: str) -> None:
    make_conflict(history)
    desk = make_desk(tmp_path)
    place = Path(desk.json("port", "201", status=1)["worktree"])
    (place / HERON).write_text(resolved(history))
    desk.json("port", "--continue", status=0)
    history.fork.git("branch", "-D", "forkguard/201")
    (kept,) = (desk.path / "resolutions").iterdir()
    kept.write_text(kept.read_text() + damage if damage != "\x00" else damage)

    assert desk.json("port", "201", status=1)["status"] == "conflict"


def request_of_three(history: MiniHistory) -> GitFolder:
    upstream, fork = history.upstream, history.fork
    upstream.git("checkout", "-q", "-b", "topic", history.base)
    upstream.commit("one", {"one.txt": "1\n"})
    upstream.commit("two", {README: "second words\n"})
    head = upstream.commit("three", {"three.txt": "3\n"})
    upstream.git("update-ref", "refs/pull/400/head", head)
    fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/pull/400/head")
    fork.commit("ours: words", {README: "our words\n"})
    return fork


def test_a_commit_that_conflicts_can_be_left_out(desk: Desk, history: MiniHistory) -> None:
    fork = request_of_three(history)
    desk.json("port", "400", status=1)

    document = desk.json("port", "--skip", status=0)

    assert fork.git("log", "--format=%s", "production..forkguard/400").splitlines() == ["three", "one"]
    assert fork.text(README, ref="forkguard/400") == "our words"
    assert [hunk["detail"] for hunk in document["hunks"]] == ["", "left out", ""]
    assert desk.checkouts == []


def test_skip_without_a_port_is_wrong_use(desk: Desk, history: MiniHistory) -> None:
    assert desk.run("port", "--skip").status == 2
    assert desk.run("port", "--skip", "--abort").status == 2
    assert desk.run("port", "--dry-run", "--abort").status == 2


def test_a_bad_rule_in_the_map_does_not_keep_a_port_from_being_taken_back(desk: Desk, history: MiniHistory) -> None:
    make_conflict(history)
    desk.json("port", "201", status=1)
    map_file = desk.path / "upstream-map.toml"
    map_file.write_text(map_file.read_text() + '\n[[rule]]\nid = "x"\nform = "nonsense"\n')

    assert desk.run("port", "--abort").status == 0


def test_copies_of_a_history_give_the_same_port(tmp_path: Path, history: MiniHistory, desk: Desk) -> None:
    first = desk.json("port", "201", status=0)
    other = tmp_path / "other"
    other.mkdir()
    copy_of(history, other).fork.git("branch", "-D", "forkguard/201")

    assert make_desk(other).json("port", "201", status=0)["commits"] == first["commits"]
    assert outcomes(first) == [("llama-arch.cpp", "clean"), ("heron.cpp", "clean")]
