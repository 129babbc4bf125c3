"""`forkguard port` where nothing stops it: what it makes, what it writes, what it leaves alone."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tests.support import mini_llama
from tests.support.porting import ARCH, CLONE, HERON, Desk, edit, make_desk, outcomes
from tests.support.repos import GitFolder, MiniHistory, clone
from tests.support.snapshot import fork_as_it_is

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/port.json").read_text())


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


def tip(fork: GitFolder) -> str:
    return fork.git("rev-parse", "forkguard/201")


def test_a_clean_port_makes_the_branch_and_leaves_the_rest_as_it_was(desk: Desk, history: MiniHistory) -> None:
    before = fork_as_it_is(history.fork.path)

    document = desk.json("port", "201", status=0)

    jsonschema.validate(document, SCHEMA)
    assert fork_as_it_is(history.fork.path) == before
    assert document["status"] == "applied"
    assert document["state"] == "merged"
    assert document["source"] == {"kind": "history", "where": "upstream's history", "commits": [history.port]}
    assert document["branch"] == "forkguard/201"
    assert document["commits"] == [tip(history.fork)]
    assert document["stat"] == {"files": 2, "added": 6, "removed": 1}
    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "clean")]
    assert history.fork.git("rev-parse", "forkguard/201^") == history.own[1]
    for name, text in mini_llama.draft_support().items():
        assert history.fork.text(name, ref="forkguard/201") + "\n" == text
    assert history.fork.git("diff", "--name-only", "production", "forkguard/201").split() == [ARCH, HERON]
    assert desk.checkouts == []
    assert not desk.journal.exists()


def test_the_commit_names_its_author_origin_and_patchset(desk: Desk, history: MiniHistory) -> None:
    desk.json("port", "201", status=0)

    form = "%an <%ae> %aI%n%cn <%ce> %cI%n%B"
    upstream_date = history.upstream.git("log", "-1", "--format=%aI", history.port)
    assert history.fork.git("log", "-1", f"--format={form}", "forkguard/201").rstrip() == (
        f"Ada Otter <ada@example.org> {upstream_date}\n"
        f"forkguard <forkguard@localhost> {upstream_date}\n"
        "heron : support drafts (#201)\n\n"
        f"(cherry picked from commit {history.port})\n"
        "Forkguard-Patchset: 201"
    )


def test_the_same_port_made_twice_gives_the_same_commit(desk: Desk, history: MiniHistory) -> None:
    first = desk.json("port", "201", status=0)
    files = desk.stack_files()
    again = desk.json("port", "201", status=0)
    history.fork.git("branch", "-D", "forkguard/201")
    anew = desk.json("port", "201", status=0)

    assert first["commits"] == again["commits"] == anew["commits"]
    assert again["notes"] == ["forkguard/201 held this very commit already"]
    assert desk.stack_files() == files


def test_plain_git_am_applies_the_patches_and_keeps_the_message(
    desk: Desk, history: MiniHistory, tmp_path: Path
) -> None:
    desk.json("port", "201", status=0)
    fresh = clone(history.fork, tmp_path / "fresh", "-b", "production")
    folder = desk.path / "patchsets/201"
    patches = [str(folder / name) for name in (folder / "series").read_text().split()]

    fresh.git("am", *patches)

    assert len(patches) == 1
    assert fresh.git("rev-parse", "HEAD^{tree}") == history.fork.git("rev-parse", "forkguard/201^{tree}")
    assert fresh.git("log", "-1", "--format=%B") == history.fork.git("log", "-1", "--format=%B", "forkguard/201")


def test_the_patchset_is_written_beside_the_map(desk: Desk, history: MiniHistory) -> None:
    desk.json("port", "201", status=0)

    files = desk.stack_files()
    assert sorted(files) == ["201/0001-heron-support-drafts-201.patch", "201/patchset.toml", "201/series", "series"]
    assert files["series"] == b"201\n"
    assert files["201/series"] == b"0001-heron-support-drafts-201.patch\n"
    patch = files["201/0001-heron-support-drafts-201.patch"].decode()
    head = patch.split("\n\n", 1)[0]
    assert f"\nOrigin: upstream, commit:{history.port}\n" in head
    assert "\nForwarded: not-needed\n" in head
    assert head.endswith(f"\nApplied-Upstream: commit:{history.port}")
    assert f"\nbase-commit: {history.base}\n" in patch
    shown = desk.json("stack", "show", "201", status=0)
    assert (shown["state"], shown["base"], shown["upstream"]) == ("carried", history.base, [history.port])
    assert (shown["patches"][0]["added"], shown["patches"][0]["removed"]) == (6, 1)


def test_a_declared_patchset_keeps_what_a_person_wrote(desk: Desk, history: MiniHistory) -> None:
    manifest = desk.path / "patchsets/201/patchset.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(
        '# ask Ada\ntitle = "drafts"  # short\npull = 201\nstate = "declared"\nwhy = "we need drafts"\n\n'
        '[[follow-ups]]\npull = 205\nwhy = "a second form"\n'
    )
    (desk.path / "patchsets/series").write_text("# the stack\n201  # first\n")

    document = desk.json("port", "201", status=0)

    assert document["follow_ups"] == [{"pr": 205, "commit": None, "why": "a second form"}]
    text = manifest.read_text()
    for kept in ("# ask Ada\n", 'title = "drafts"  # short\n', 'why = "we need drafts"\n', "[[follow-ups]]\n"):
        assert kept in text
    assert 'state = "carried"\n' in text
    assert (desk.path / "patchsets/series").read_text() == "# the stack\n201  # first\n"


def test_the_text_says_how_it_ended_and_what_to_type_next(desk: Desk, history: MiniHistory) -> None:
    outcome = desk.run("port", "201")

    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "#201 ported onto production as forkguard/201"
    assert f"  2 files, +6 -1; made {tip(history.fork)[:10]}" in lines
    assert "  forkguard drift --arch heron --fork-ref forkguard/201" in lines
    assert "\x1b" not in outcome.out


def test_hazards_that_the_port_carries_along_are_named(desk: Desk, history: MiniHistory) -> None:
    document = desk.json("port", "201", status=0)

    found = {(hazard["kind"], hazard["arch"], hazard["also_upstream"]) for hazard in document["hazards"]}
    assert document["archs"] == ["heron"]
    assert ("hazard", "heron", True) in found


# -- what forks hold -------------------------------------------------------------------------------------


def test_lines_that_moved_are_an_offset(desk: Desk, history: MiniHistory) -> None:
    edit(history, HERON, '#include "models.h"\n', '#include "models.h"\n\n// one\n// two\n')

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "offset")]
    assert document["hunks"][1]["detail"].startswith("+3 lines")


def test_neighbours_that_the_fork_edited_are_merged(desk: Desk, history: MiniHistory) -> None:
    edit(history, HERON, 'cb(cur, "l_out", il);', 'cb(cur, "layer_out", il);')

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "three-way")]
    assert 'cb(cur, "layer_out", il);' in history.fork.text(HERON, ref="forkguard/201")


def test_a_name_that_the_fork_calls_otherwise_is_said(desk: Desk, history: MiniHistory) -> None:
    names = (f"step{number}" for number in range(99))
    text = (history.fork.path / HERON).read_text()
    history.fork.commit("ours: a name per step", {HERON: re.sub(r"\bcur\b", lambda _: next(names), text)})
    renamed = desk.json("port", "201", status=1)

    assert {"symbol": "cur", "path": HERON, "commit": None, "pr": None} in renamed["prerequisites"]
    jsonschema.validate(renamed, SCHEMA)
    assert desk.run("port", "--abort").status == 0
    lines = desk.run("port", "201").out.splitlines()
    assert f"  cur  {HERON}" in lines


def test_a_request_that_is_there_already_writes_nothing(desk: Desk, history: MiniHistory) -> None:
    history.fork.commit("ours: drafts for heron", mini_llama.draft_support())
    before = fork_as_it_is(history.fork.path)

    document = desk.json("port", "201", status=0)

    jsonschema.validate(document, SCHEMA)
    assert document["status"] == "already-present"
    assert (document["branch"], document["commits"]) == (None, [])
    assert outcomes(document) == [("llama-arch.cpp", "already-present"), ("heron.cpp", "already-present")]
    assert fork_as_it_is(history.fork.path) == before
    assert history.fork.git("branch", "--list", "forkguard/*") == ""
    assert desk.stack_files() == {}


def test_what_is_there_with_edits_around_it_is_never_guessed(desk: Desk, history: MiniHistory) -> None:
    new = mini_llama.draft_support()
    added = "        case LLM_ARCH_HERONMOE:\n"
    more = new[ARCH].replace(
        f"{added}            return true;\n        default",
        f"{added}            return true;\n            break;\n        default",
    )
    wider = new[HERON].replace(
        "        res->t_layer_inp[il] = cur;\n", "        trace(il);\n        res->t_layer_inp[il] = cur;\n"
    )
    history.fork.commit("ours: drafts, and more", {ARCH: more, HERON: wider})

    document = desk.json("port", "201", status=1)

    assert outcomes(document) == [("llama-arch.cpp", "already-present"), ("heron.cpp", "conflict")]


def test_the_part_that_is_missing_is_ported(desk: Desk, history: MiniHistory) -> None:
    history.fork.commit("ours: the switch alone", {ARCH: mini_llama.draft_support()[ARCH]})

    document = desk.json("port", "201", status=0)

    assert document["status"] == "applied"
    assert outcomes(document) == [("llama-arch.cpp", "already-present"), ("heron.cpp", "clean")]
    assert history.fork.git("diff", "--name-only", "production", "forkguard/201") == HERON


def test_a_squashed_fork_ports_the_same(desk: Desk, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("checkout", "-q", "--orphan", "squashed")
    fork.git("commit", "-q", "-m", "ours: all in one")
    fork.git("branch", "-q", "-M", "squashed", "production")

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "clean")]
    onto = fork.git("rev-parse", "production")
    patch = desk.stack_files()["201/0001-heron-support-drafts-201.patch"].decode()
    assert f"\nbase-commit: {onto}\n" in patch
    assert desk.json("stack", "show", "201", status=0)["base"] == history.base


def test_line_ends_and_bytes_of_the_fork_stay(desk: Desk, history: MiniHistory) -> None:
    text = (history.fork.path / HERON).read_bytes()
    latin = text.replace(b'"models.h"\n', b'"models.h" // gr\xfc\xdfe\r\n')
    history.fork.commit("ours: other bytes", {HERON: latin})

    document = desk.json("port", "201", status=0)

    assert document["status"] == "applied"
    blob = history.fork.git("rev-parse", f"forkguard/201:{HERON}")
    expected = mini_llama.draft_support()[HERON].encode().replace(b'"models.h"\n', b'"models.h" // gr\xfc\xdfe\r\n')
    (history.fork.path / "expected").write_bytes(expected)
    assert history.fork.git("hash-object", "--no-filters", "expected") == blob


def test_a_dirty_work_tree_is_not_touched(desk: Desk, history: MiniHistory) -> None:
    fork = history.fork
    (fork.path / HERON).write_text("half done\n")
    (fork.path / "notes.txt").write_text("mine\n")
    (fork.path / ARCH).write_text("staged\n")
    fork.git("add", ARCH)
    before = fork_as_it_is(fork.path)

    assert desk.json("port", "201", status=0)["status"] == "applied"
    assert fork_as_it_is(fork.path) == before


def test_a_detached_head_stays_where_it_is(desk: Desk, history: MiniHistory) -> None:
    history.fork.git("checkout", "-q", "--detach", history.base)
    before = fork_as_it_is(history.fork.path)

    assert desk.json("port", "201", status=0)["status"] == "applied"
    assert fork_as_it_is(history.fork.path) == before


def test_upstream_in_another_clone(tmp_path: Path, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("remote", "remove", "upstream")
    fork.git("reflog", "expire", "--expire=now", "--all")
    fork.git("gc", "--prune=now", "--quiet")
    desk = make_desk(tmp_path, upstream=CLONE)
    before, theirs = fork_as_it_is(fork.path), fork_as_it_is(history.upstream.path)

    document = desk.json("port", "201", status=0)

    assert document["commits"] == [tip(fork)]
    assert fork_as_it_is(fork.path) == before
    assert fork_as_it_is(history.upstream.path) == theirs
    assert fork.git("rev-parse", "refs/forkguard/upstream") == history.tip
    assert fork.git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_no_hook_filter_or_merge_driver_of_the_fork_runs(desk: Desk, history: MiniHistory) -> None:
    fork, marks = history.fork, desk.path.parent / "ran"
    marks.mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-merge"):
        file = fork.path / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {marks}/{hook}\n")
        file.chmod(0o755)
    for key in ("filter.x.smudge", "filter.x.clean", "merge.x.driver", "diff.x.command", "diff.x.textconv"):
        fork.git("config", key, f"touch {marks}/{key}; cat")
    fork.git("config", "filter.x.required", "true")
    fork.git("config", "core.fsmonitor", f"touch {marks}/fsmonitor")
    (fork.path / ".git/info").mkdir(exist_ok=True)
    (fork.path / ".git/info/attributes").write_text("*.cpp filter=x merge=x diff=x\n")
    edit_heron = (fork.path / HERON).read_text().replace("tail, state_slot(il, 0)", "tail, own(il)")
    blob = fork.git("hash-object", "-w", "--stdin", "--no-filters", stdin=edit_heron)
    fork.git("update-index", "--cacheinfo", f"100644,{blob},{HERON}")
    fork.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "ours: conflict")
    for mark in marks.iterdir():
        mark.unlink()

    assert desk.json("port", "201", status=1)["status"] == "conflict"
    assert desk.run("port", "--abort").status == 0
    assert list(marks.iterdir()) == []


def test_a_fork_with_other_line_ends_keeps_them(desk: Desk, history: MiniHistory) -> None:
    crlf = (history.fork.path / HERON).read_bytes().replace(b"\n", b"\r\n")
    history.fork.commit("ours: crlf", {HERON: crlf})

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "clean")]
    assert document["hunks"][1]["detail"] == "in the fork's CRLF line ends"
    expected = mini_llama.draft_support()[HERON].replace("\n", "\r\n").encode()
    (history.fork.path / "expected").write_bytes(expected)
    blob = history.fork.git("rev-parse", f"forkguard/201:{HERON}")
    assert history.fork.git("hash-object", "--no-filters", "expected") == blob
