"""`forkguard nightly`, whole: verdict, record, candidate, and that nothing of the user's changes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forkguard.cli import clock
from tests.support.hook import hook
from tests.support.mini_llama import draft_support
from tests.support.nights import BRANCH, Nights, detail, outcomes
from tests.support.stacks import NOTES, held, notes

STEPS = ["fetch", "target", "coverage", "recheck", "drift", "replay", "candidate", "build", "gate", "push"]
LOOKS = dict.fromkeys(STEPS[:7], "done")


def test_a_green_night_leaves_a_candidate_and_nothing_else(nights: Nights) -> None:
    tip = nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    before = nights.fork.snapshot()
    night = nights.night(status=0)
    assert (night["verdict"], night["story"], night["days_red"], night["reused"]) == ("green", "", 0, None)
    assert outcomes(night) == LOOKS | dict.fromkeys(("build", "gate", "push"), "skipped")
    assert [step["name"] for step in night["steps"]] == STEPS
    base = nights.queue.base
    assert night["upstream"] == {"ref": "upstream/master", "from": base, "to": tip, "commits": 1, "behind": 1}
    assert (night["base"], night["ahead"]) == ({"commit": base, "how": "merge-base"}, 1)
    assert night["fork"] == {"ref": "production", "commit": nights.fork.git("rev-parse", "production")}
    assert [(one["patchset"], one["status"]) for one in night["stack"]] == [("one", "applies")]
    candidate = night["candidate"]
    assert nights.candidates() == {candidate["branch"]: candidate["commit"]}
    assert candidate["branch"].startswith(BRANCH)
    assert (
        nights.fork.text(NOTES, ref=candidate["branch"]) == notes({3: "ours: three", 30: "theirs: thirty"}).rstrip()
    )
    assert nights.fork.git("rev-parse", f"{candidate['branch']}~1") == tip
    assert nights.fork.snapshot() == before
    beside = {path.name for path in (nights.folder / night["id"]).iterdir()}
    assert beside == {"night.json", "drift.json", "replay.json", "fetch.log"}
    for name in ("drift.json", "replay.json"):
        held(json.loads((nights.folder / night["id"] / name).read_text()))
    assert night["drift"]["archs"] == {"heron": "clean", "heronmoe": "clean"}


def test_a_night_with_nothing_new_takes_the_results_over_and_says_so(nights: Nights) -> None:
    first = nights.night(status=0)
    again = nights.night(status=0)
    third = nights.night(status=0)
    assert [night["reused"] for night in (first, again, third)] == [None, first["id"], first["id"]]
    assert again["notes"] == [f"nothing is new since the night {first['id']}: its results were taken over"]
    for key in ("stack", "candidate", "drift", "base", "verdict", "key", "ahead"):
        assert again[key] == first[key]
    assert (again["upstream"]["commits"], again["upstream"]["from"]) == (0, first["upstream"]["to"])
    assert len(nights.candidates()) == 1
    drift = nights.folder / third["id"] / "drift.json"
    assert drift.read_bytes() == (nights.folder / first["id"] / "drift.json").read_bytes()
    fresh = nights.night("--fresh", status=0)
    assert (fresh["reused"], fresh["candidate"]) == (None, first["candidate"])
    assert nights.night(status=0)["reused"] == fresh["id"]


@pytest.mark.parametrize("change", ["fork", "upstream", "stack", "map", "resolution"])
def test_what_changes_is_looked_at_again(nights: Nights, change: str) -> None:
    nights.night(status=0)
    if change == "fork":
        nights.fork.commit("ours: more\n\nForkguard-Patchset: one", {"more.txt": "more\n"})
    elif change == "upstream":
        nights.upstream.commit("more (#8)", {"more.txt": "more\n"})
    elif change == "stack":
        with (nights.desk / "patchsets/one/patchset.toml").open("a") as file:
            file.write("# another word\n")
    elif change == "map":
        with (nights.desk / "upstream-map.toml").open("a") as file:
            file.write("# another word\n")
    else:
        (nights.desk / "resolutions").mkdir()
        (nights.desk / "resolutions" / "x").write_text("x")
    assert nights.night(status=0)["reused"] is None


def test_commits_in_no_patchset_make_it_could_not_run(nights: Nights) -> None:
    own = nights.fork.commit("ours: a service file", {"deploy/server.service": "[Service]\n"})
    night = nights.night(status=3)
    assert night["verdict"] == "could-not-run"
    assert [one["commit"] for one in night["uncovered"]] == [own]
    assert (outcomes(night)["replay"], outcomes(night)["candidate"]) == ("done", "skipped")
    (step,) = [step for step in night["steps"] if step["outcome"] == "could-not"]
    assert (step["name"], step["hint"]) == ("coverage", "forkguard stack import --from-branch production")
    assert nights.candidates() == {}
    assert nights.night(status=3)["repeats"] == 1
    text = nights.run().out
    assert "could not run" in text.splitlines()[0]
    assert "the same for 3 nights" in text
    assert text.splitlines()[-1] == "  forkguard stack import --from-branch production"


def test_a_conflict_is_red_and_its_packet_tells_all(nights: Nights) -> None:
    before = nights.fork.snapshot()
    nights.upstream.commit("notes: ten (#8)", {NOTES: notes({10: "theirs: ten"})})
    broke = nights.upstream.commit("notes: three (#9)", {NOTES: notes({3: "theirs: three", 10: "theirs: ten"})})
    night = nights.night(status=1)
    assert (night["verdict"], outcomes(night)["replay"], outcomes(night)["candidate"]) == ("red", "found", "skipped")
    (patch,) = night["stack"]
    assert (patch["status"], patch["breaking_commit"]) == ("conflict", broke)
    (packet,) = night["packets"]
    text = (nights.folder / night["id"] / packet["file"]).read_text()
    assert f"Broken by `{broke[:12]}` 2026-01-01 `notes: three (#9)`" in text
    for line in ("theirs: three", "note 3: nothing special", "ours: three"):
        assert f"\n{line}\n" in text
    upstream_side, patch_side = text.index("\ntheirs: three\n"), text.index("\nours: three\n")
    assert text.index("Upstream has") < upstream_side < text.index("The patch makes of it") < patch_side
    assert "Upstream wrote its side in:\n\n- " + f"`{broke[:12]}`" in text
    assert "ten (#8)" not in text
    assert f"git -C {nights.fork.path} worktree add --detach" in text
    assert packet["resume"] == f"forkguard stack replay --onto {broke} --resolve one/{patch['patch']}"
    assert packet["resume"] in text
    assert nights.candidates() == {}
    assert nights.fork.snapshot() == before


def test_a_conflict_that_was_decided_makes_the_next_night_green(nights: Nights) -> None:
    nights.upstream.commit("notes: three (#9)", {NOTES: notes({3: "theirs: three"})})
    red = nights.night(status=1)
    command = red["packets"][0]["resume"].split(" ")[1:]
    assert nights.queue.desk.run(*command).status == 1
    (place,) = (nights.desk.parent / "cache" / "worktrees").glob("forkguard-*/" + NOTES)
    place.write_text(notes({3: "both: three"}))
    assert nights.queue.desk.run("stack", "replay", "--continue").status == 0
    green = nights.night(status=0)
    assert green["reused"] is None
    assert nights.fork.text(NOTES, ref=green["candidate"]["branch"]) == notes({3: "both: three"}).rstrip()


def test_what_came_after_a_carried_request_is_told_once_as_new(nights: Nights) -> None:
    merged = nights.upstream.commit("a request (#7)", {"other.cpp": "int seven;\n"})
    with (nights.desk / "patchsets/one/patchset.toml").open("a") as file:
        file.write(f'pull = 7\nupstream = ["{merged}"]\n')
    assert nights.night(status=0)["follow_ups"] == []
    later = nights.upstream.commit("mend #7 (#8)", {"more.txt": "more\n"})
    (found,) = nights.night(status=0)["follow_ups"]
    assert (found["patchset"], found["pr"], found["commit"], found["new"]) == ("one", 8, later, True)
    nights.upstream.commit("elsewhere (#9)", {"more.txt": "more and more\n"})
    assert [one["new"] for one in nights.night(status=0)["follow_ups"]] == [False]


def test_the_same_failure_is_one_story_another_one_is_new(nights: Nights) -> None:
    nights.upstream.commit("notes: three (#9)", {NOTES: notes({3: "theirs: three"})})
    first = nights.night(status=1)
    nights.upstream.commit("elsewhere (#10)", {"more.txt": "more\n"})
    second = nights.night(status=1)
    assert second["reused"] is None
    assert (second["story"], second["repeats"], second["days_red"]) == (first["story"], 1, 1)
    nights.carry("two", {NOTES: notes({3: "ours: three", 4: "ours: four"})})
    other = nights.night(status=1)
    assert other["story"] != first["story"]
    assert other["repeats"] == 0


def test_what_landed_is_proposed_for_retirement(nights: Nights) -> None:
    landed = nights.upstream.commit("notes: three (#9)", {NOTES: notes({3: "ours: three"})})
    night = nights.night(status=0)
    assert night["retire"] == [{"patchset": "one", "landed_in": landed, "command": "forkguard stack retire one"}]
    assert night["candidate"]["commit"] == landed
    assert "forkguard stack retire one" in nights.run().out


def test_drift_that_crashes_makes_a_night_red_unless_the_map_says_otherwise(nights: Nights) -> None:
    nights.upstream.commit("heron : support drafts (#201)", draft_support())
    night = nights.night(status=1)
    assert (night["verdict"], outcomes(night)["drift"]) == ("red", "found")
    assert {finding["severity"] for finding in night["drift"]["findings"]} >= {"crash"}
    assert outcomes(night)["candidate"] == "done", "a candidate is made all the same: it has what production lacks"
    nights.settings('build = false\ndrift = "report"')
    told = nights.night(status=0)
    assert (told["verdict"], outcomes(told)["drift"]) == ("green", "found")
    assert detail(told, "drift").endswith("told only")


def test_findings_of_a_baseline_do_not_count(nights: Nights) -> None:
    nights.upstream.commit("heron : support drafts (#201)", draft_support())
    nights.settings('build = false\nbaseline = "known.json"')
    assert detail(nights.night(status=3), "drift").startswith("cannot read the baseline")
    nights.fork.git("fetch", "-q", "upstream")
    written = nights.queue.desk.run("drift", "--all", "--write-baseline", "--baseline", "known.json")
    assert written.status == 0, written.err
    night = nights.night(status=0)
    assert (night["reused"], outcomes(night)["drift"]) == (None, "done")
    assert not any(finding["counts"] for finding in night["drift"]["findings"])


def test_upstream_that_was_force_pushed_is_said(nights: Nights) -> None:
    nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    gone = nights.night(status=0)["upstream"]["to"]
    nights.upstream.git("reset", "-q", "--hard", "HEAD~1")
    tip = nights.upstream.commit("notes: forty (#7)", {NOTES: notes({40: "theirs: forty"})})
    night = nights.night(status=0)
    assert night["notes"] == [f"upstream was force-pushed: 1 commit up to {gone[:10]} of before is no longer in it"]
    assert (night["upstream"]["to"], night["upstream"]["from"]) == (tip, nights.queue.base)
    assert len(nights.candidates()) == 2


def test_so_many_candidates_stay_as_the_map_says(nights: Nights) -> None:
    nights.settings("build = false\nkeep_candidates = 2")
    made = []
    for number in range(4):
        nights.upstream.commit(f"more (#{number})", {"more.txt": f"{number}\n"})
        made.append(nights.night(status=0)["candidate"])
        if number == 0:
            nights.fork.git("update-ref", f"refs/heads/{made[0]['branch']}", "production")
    left = nights.candidates()
    assert {branch for branch in left if branch != made[0]["branch"]} == {one["branch"] for one in made[2:]}
    assert left[made[0]["branch"]] == nights.fork.git("rev-parse", "production"), "somebody moved it"


def test_a_remote_that_was_never_fetched_is_enough(nights: Nights) -> None:
    tip = nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    for ref in nights.fork.git("for-each-ref", "--format=%(refname)", "refs/remotes").splitlines():
        nights.fork.git("update-ref", "--no-deref", "-d", ref)
    assert nights.night(status=0)["upstream"]["to"] == tip
    assert nights.fork.git("for-each-ref", "refs/remotes") == ""


def test_another_clone_can_be_upstream(nights: Nights) -> None:
    tip = nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    path = nights.desk / "upstream-map.toml"
    path.write_text(
        path.read_text().replace(
            'remote = "upstream"\nref = "upstream/master"', 'path = "../upstream"\nref = "master"'
        )
    )
    before = nights.upstream.snapshot()
    night = nights.night(status=0)
    assert (night["upstream"]["ref"], night["upstream"]["to"]) == ("master", tip)
    assert nights.upstream.snapshot() == before
    nights.upstream.path.rename(nights.upstream.path.with_name("elsewhere"))
    assert nights.fork.text(NOTES, ref=night["candidate"]["branch"]).count("theirs: thirty") == 1


def test_a_fork_newer_than_the_target_is_tried_on_its_own_base(nights: Nights) -> None:
    nights.upstream.git("tag", "b1", nights.queue.base)
    tip = nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    nights.fork.git("fetch", "-q", "upstream")
    nights.fork.git("merge", "-q", "--no-edit", "upstream/master")
    nights.settings('build = false\ntarget = "b*"')
    night = nights.night(status=0)
    assert (night["upstream"]["to"], night["upstream"]["behind"]) == (tip, 0)
    assert any("is newer than b1" in note for note in night["notes"])


def test_without_upstream_it_could_not_run_and_says_why(nights: Nights) -> None:
    nights.fork.git("remote", "set-url", "upstream", f"file://{nights.desk}/nowhere")
    night = nights.night(status=3)
    assert outcomes(night)["fetch"] == "could-not"
    assert set(outcomes(night).values()) == {"could-not", "skipped"}
    assert "could not be fetched" in night["reason"]


def test_a_fork_that_is_gone_is_a_night_that_could_not_run(nights: Nights) -> None:
    nights.night(status=0)
    nights.fork.path.rename(nights.fork.path.with_name("moved"))
    night = nights.night(status=3)
    assert (night["verdict"], night["fork"], night["days_red"]) == ("could-not-run", None, 1)
    assert "the fork's folder is not there" in night["reason"]


def test_a_map_that_is_wrong_is_wrong_use(nights: Nights) -> None:
    nights.settings('target = "a**"')
    outcome = nights.run()
    assert (outcome.status, outcome.out) == (2, "")
    assert "more than one *" in outcome.err


def test_markdown_and_text_say_the_same(nights: Nights) -> None:
    nights.upstream.commit("evil | `\x1b[2J` <b> (#9)", {NOTES: notes({3: "theirs: three"})})
    text, markdown = nights.run().out, nights.run("--format", "markdown").out
    assert text.splitlines()[0].endswith("red  1 patch does not apply: one/0001-ours-one.patch (conflict)")
    assert markdown.splitlines()[0].endswith(": red")
    assert "| replay | found | `patches that do not apply: 1 of 1` |" in markdown
    assert "\x1b" not in text + markdown


def test_a_story_is_told_once_and_its_end_too(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_KEY", "k")
    with hook() as there:
        nights.settings(f'build = false\nwebhook = "{there.url}"\nwebhook_secret = "HOOK_KEY"')
        assert nights.night(status=0)["notified"] is None
        own = nights.fork.commit("ours: a service file", {"deploy/server.service": "[Service]\n"})
        assert nights.night(status=3)["notified"] is True
        assert nights.night(status=3)["notified"] is None
        nights.fork.git("reset", "-q", "--hard", f"{own}~1")
        assert nights.night(status=0)["notified"] is True
    assert [json.loads(body)["verdict"] for _, body in there.got] == ["could-not-run", "green"]


def test_a_notice_that_did_not_arrive_is_said_and_sent_the_next_night(nights: Nights) -> None:
    nights.fork.commit("ours: a service file", {"deploy/server.service": "[Service]\n"})
    nights.settings('build = false\nnotify_command = ["sh", "-c", "exit $(cat code)"]')
    (nights.desk / "code").write_text("4")
    night = nights.night(status=3)
    assert night["notified"] is False
    assert night["notes"][-1].startswith("notify_command: ")
    (nights.desk / "code").write_text("0")
    assert nights.night(status=3)["notified"] is True


def test_github_gets_a_summary_and_annotations(
    nights: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    nights.upstream.commit("notes: three (#9)", {NOTES: notes({3: "theirs: three"})})
    outcome = nights.run("--format", "json")
    json.loads(outcome.out)
    assert (tmp_path / "summary.md").read_text().startswith("## Night ")
    lines = outcome.err.splitlines()
    assert lines[0].startswith("::error title=nightly%3A red::1 patch does not apply")
    assert lines[1].startswith("::error title=nightly%3A replay::patches that do not apply: 1 of 1")


def test_status_tells_the_last_night_and_barks_where_none_is_recent(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = nights.queue.desk
    assert desk.json("status", "--max-age", "36h", status=1)["watch"] == {
        "max_age_hours": 36, "stale": "no night has come to an answer yet",
    }  # fmt: skip
    night = nights.night(status=0)
    document = held(desk.json("status", "--max-age", "36h", status=0))
    assert document["nightly"] == {
        "path": str(nights.folder / night["id"] / "night.json"),
        "candidate": night["candidate"]["branch"],
        **{key: night[key] for key in ("id", "verdict", "reason", "started", "finished", "days_red", "repeats")},
    }
    assert document["watch"]["stale"] == ""
    assert desk.json("status", status=0)["watch"] is None
    nights.fork.commit("ours: a service file", {"deploy/server.service": "[Service]\n"})
    nights.night(status=3)
    nights.night(status=3)
    lines = desk.run("status").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("nightly   could not run, "))
    assert lines[at + 1].startswith("          not green for 1 day, the same for 2 nights: ")
    monkeypatch.setattr(clock, "now", lambda: datetime(2100, 1, 1, tzinfo=UTC))
    outcome = desk.run("status", "--max-age", "36h")
    assert outcome.status == 1
    assert "          stale: the last answer is of " in outcome.out


def test_status_tells_of_a_night_that_did_not_end(nights: Nights) -> None:
    night = nights.night(status=0)
    folder = nights.folder / night["id"]
    (folder / "night.json").rename(folder / "night.part.json")
    (work,) = held(nights.queue.desk.json("status", status=0))["open"]
    assert work["what"] == f"the night {night['id']} is at work, or was cut off"


def test_status_does_not_pass_a_damaged_record_over(nights: Nights) -> None:
    night = nights.night(status=0)
    (nights.folder / night["id"] / "night.json").write_text("{")
    outcome = nights.queue.desk.run("status")
    assert outcome.status == 3
    assert outcome.told()[0].startswith("the record of a night is damaged")


def test_a_night_renews_the_pages_and_loses_nothing_where_it_cannot(nights: Nights) -> None:
    nights.settings("build = false\nreport = true")
    night = nights.night(status=0)
    folder = nights.desk / ".forkguard" / "report"
    assert f"nights/{night['id']}.html" in (folder / "index.html").read_text()
    for page in sorted(folder.rglob("*"), reverse=True):
        page.rmdir() if page.is_dir() else page.unlink()
    (folder / "mine.txt").write_text("no report\n")
    outcome = nights.run()
    assert outcome.status == 0
    assert "the pages could not be written" in outcome.err
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
