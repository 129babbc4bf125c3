"""Imports from a branch, a quilt series and a folder of mails; exports as patches, a bundle and a branch."""

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.porting import CLONE, MAP
from tests.support.repos import clone
from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import LINES, NOTES, Queue, held, new_queue, notes, run_stopping, text


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return new_queue(tmp_path)


def ran(queue: Queue, *words: str, status: int = 0) -> dict[str, Any]:
    """JSON of a command that leaves the fork as it was."""
    before = fork_as_it_is(queue.fork.path)
    document = held(queue.desk.json("stack", *words, status=status))
    assert fork_as_it_is(queue.fork.path) == before
    return document


def fork_commits(queue: Queue) -> list[str]:
    """Three commits of the fork's own on its production branch, by two people."""
    one = queue.fork.commit("ours: ten (#7)", {NOTES: notes({10: "ten, ours"})})
    queue.fork.write({"README.md": "ours\n"})
    queue.fork.git("add", "-A")
    queue.fork.git(
        "commit", "-q", "--author=Zoë <zoe@example.org>", "-m", "ours: a readme\n\nForkguard-Patchset: readme"
    )
    two = queue.fork.git("rev-parse", "HEAD")
    three = queue.fork.commit("ours: thirty", {NOTES: notes({10: "ten, ours", 30: "thirty, ours"})})
    return [one, two, three]


# -- import ------------------------------------------------------------------------------------------------


def test_a_branch_becomes_a_stack_that_verifies(queue: Queue) -> None:
    commits = fork_commits(queue)

    document = ran(queue, "import", "--from-branch", "production")

    assert document["patchsets"] == [
        {"name": "0001-ours-ten-7", "patches": ["0001-ours-ten-7.patch"]},
        {"name": "readme", "patches": ["0002-ours-a-readme.patch"]},
        {"name": "0003-ours-thirty", "patches": ["0003-ours-thirty.patch"]},
    ]
    assert ran(queue, "verify")["findings"] == []
    first = queue.desk.stack_files()["readme/0002-ours-a-readme.patch"].decode()
    assert first.startswith(f"From {commits[1]} ")
    assert "From: =?UTF-8?q?Zo=C3=AB?= <zoe@example.org>" in first
    assert "\nOrigin: vendor\nForwarded: no\n" in first


def test_a_branch_with_merges_of_upstream_becomes_a_stack_on_the_base_of_today(queue: Queue) -> None:
    queue.fork.commit("ours: ten", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("theirs: thirty (#103)", {NOTES: notes({30: "thirty, theirs"})})
    queue.fork.git("merge", "-q", "--no-edit", "upstream/master")
    base = queue.fork.git("rev-parse", "upstream/master")
    both = notes({10: "ten, ours", 11: "eleven, ours", 30: "thirty, theirs"})
    queue.fork.commit("ours: eleven", {NOTES: both})

    document = ran(queue, "import", "--from-branch", "production")

    names = ["0001-ours-ten", "0002-ours-eleven"]
    assert ([each["name"] for each in document["patchsets"]], document["as_they_came"]) == (names, [])
    assert queue.statuses(ran(queue, "replay")) == [(name, "applies") for name in names]
    assert ran(queue, "verify")["findings"] == []
    files = queue.desk.stack_files()
    assert all(f"\nbase-commit: {base}\n" in files[f"{name}/{name}.patch"].decode() for name in names)
    assert queue.fork.text(NOTES, ref=files[f"{names[1]}/{names[1]}.patch"].split()[1].decode()) == both.rstrip("\n")


def test_a_commit_that_a_later_merge_settled_is_kept_as_it_came(queue: Queue) -> None:
    queue.fork.commit("ours: ten", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("theirs: ten (#103)", {NOTES: notes({10: "ten, theirs"})})
    queue.fork.git("merge", "-q", "-X", "ours", "--no-edit", "upstream/master")

    came = ran(queue, "import", "--from-branch", "production", status=1)["as_they_came"]

    assert [(each["patch"], each["why"].partition(":")[0]) for each in came] == [
        ("0001-ours-ten/0001-ours-ten.patch", "conflict, docs/notes.txt")
    ]


def test_importing_again_changes_nothing(queue: Queue) -> None:
    fork_commits(queue)
    ran(queue, "import", "--from-branch", "production")
    files = queue.desk.stack_files()

    ran(queue, "import", "--from-branch", "production")

    assert queue.desk.stack_files() == files


def test_what_is_there_already_is_not_written_over(queue: Queue) -> None:
    fork_commits(queue)
    ran(queue, "import", "--from-branch", "production")
    file = queue.desk.path / "patchsets/readme/patchset.toml"
    file.write_text(file.read_text().replace('why = ""', 'why = "mine"'))

    outcome = queue.desk.run("stack", "import", "--from-branch", "production")

    assert outcome.status == 2
    assert outcome.told()[0] == "the patchset readme is there already and holds something else"
    assert 'why = "mine"' in file.read_text()


def test_an_import_that_is_killed_loses_nothing_and_is_finished_by_the_next(queue: Queue) -> None:
    fork_commits(queue)
    words = ("stack", "import", "--from-branch", "production")
    whole: dict[str, bytes] | None = None
    for writes in range(30):
        shutil.rmtree(queue.desk.path / "patchsets", ignore_errors=True)
        killed = run_stopping(queue.desk.path, writes, *words)
        listed = (queue.desk.path / "patchsets/series").read_text().split() if killed == 0 else []
        assert (queue.desk.path / "patchsets/series").is_file() == (killed == 0)
        assert queue.desk.run(*words).status == 0
        whole = whole or queue.desk.stack_files()
        assert queue.desk.stack_files() == whole
        if killed == 0:
            assert listed == ["0001-ours-ten-7", "readme", "0003-ours-thirty"]
            return
        assert killed == -signal.SIGKILL
    pytest.fail("it never ended")


def test_a_dry_run_writes_nothing(queue: Queue) -> None:
    fork_commits(queue)

    assert len(ran(queue, "import", "--from-branch", "production", "--dry-run")["patchsets"]) == 3
    assert queue.desk.stack_files() == {}


def test_all_in_one_patchset(queue: Queue) -> None:
    fork_commits(queue)

    (patchset,) = ran(queue, "import", "--from-branch", "production", "--name", "all")["patchsets"]

    assert (patchset["name"], len(patchset["patches"])) == ("all", 3)
    assert ran(queue, "verify")["findings"] == []


def test_a_folder_of_mails_keeps_numbers_and_authors(queue: Queue, tmp_path: Path) -> None:
    commits = fork_commits(queue)
    mails = tmp_path / "mails"
    queue.fork.git("format-patch", "-o", str(mails), "--start-number=9", f"{queue.base}..production")
    (mails / "README").write_text("not a patch")
    queue.fork.git("checkout", "-q", "--detach", queue.base)

    document = ran(queue, "import", "--am", str(mails))

    assert [each["patches"] for each in document["patchsets"]] == [
        ["0009-ours-ten-7.patch"],
        ["0010-ours-a-readme.patch"],
        ["0011-ours-thirty.patch"],
    ]
    assert document["as_they_came"] == []
    verified = ran(queue, "verify", "--fork-ref", "production")
    assert [each["kind"] for each in verified["findings"]] == []
    tip = verified["tip"]
    log = queue.fork.git("log", "--reverse", "--format=%an <%ae> %at %s", f"{queue.base}..{tip}")
    assert log == queue.fork.git("log", "--reverse", "--format=%an <%ae> %at %s", f"{queue.base}..{commits[2]}")
    last = queue.desk.stack_files()["0011-ours-thirty/0011-ours-thirty.patch"].split()[1].decode()
    queue.fork.git("-c", "gc.pruneExpire=now", "gc", "-q")
    assert queue.fork.git("rev-parse", f"{last}~3") == queue.base  # gc keeps what the patches were exported from


def test_a_mail_that_does_not_apply_is_kept_as_it_came(queue: Queue, tmp_path: Path) -> None:
    queue.author.commit("private", {NOTES: notes({9: "nine, private", 11: "eleven, private"})})
    queue.author.commit("on it", {NOTES: notes({9: "nine, private", 10: "ten, ours", 11: "eleven, private"})})
    queue.author.commit("apart", {"README.md": "ours\n"})
    mails = tmp_path / "mails"
    queue.author.git("format-patch", "-o", str(mails), "HEAD~2")
    came = (mails / "0001-on-it.patch").read_bytes()

    document = ran(queue, "import", "--am", str(mails), status=1)

    assert [each["patch"] for each in document["as_they_came"]] == ["0001-on-it/0001-on-it.patch"]
    assert document["as_they_came"][0]["why"].startswith("missing-blob, docs/notes.txt")
    assert queue.desk.stack_files()["0001-on-it/0001-on-it.patch"] == came
    assert queue.statuses(ran(queue, "replay", status=1)) == [
        ("0001-on-it", "missing-blob"),
        ("0002-apart", "applies"),
    ]


QUILT = """\
Description: ten is ours
Author: Ada Otter <ada@example.org>
Forwarded: not-needed

--- a/docs/notes.txt
+++ b/docs/notes.txt
@@ -9,3 +9,3 @@
 note 9: nothing special
-note 10: nothing special
+ten, ours
 note 11: nothing special
"""


def test_a_quilt_series(queue: Queue, tmp_path: Path) -> None:
    folder = tmp_path / "debian" / "patches"
    folder.mkdir(parents=True)
    (folder / "series").write_text("# ours\nten.patch\nsub/new.diff -p0\n")
    (folder / "ten.patch").write_text(QUILT)
    (folder / "sub").mkdir()
    (folder / "sub/new.diff").write_text("--- /dev/null\n+++ docs/new.txt\n@@ -0,0 +1 @@\n+new\n")

    document = ran(queue, "import", "--quilt", str(tmp_path / "debian"))

    assert [each["name"] for each in document["patchsets"]] == ["0001-ten", "0002-new"]
    tip = ran(queue, "replay")["tip"]
    assert queue.fork.text(NOTES, ref=tip) == notes({10: "ten, ours"}).rstrip("\n")
    assert queue.fork.text("docs/new.txt", ref=tip) == "new"
    mail = queue.desk.stack_files()["0001-ten/0001-ten-is-ours.patch"].decode()
    assert "Subject: [PATCH] ten is ours\n" in mail
    assert "\nForwarded: not-needed\n" in mail


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--am", "nowhere"),
        ("--quilt", "."),
        ("--am", ".", "--quilt", "."),
        ("--from-branch", "--x"),
        ("--from-branch", "production", "--name", "../x"),
        ("--from-branch", "production", "--base", "nowhere"),
    ],
)
def test_an_import_that_cannot_be(queue: Queue, words: tuple[str, ...]) -> None:
    outcome = queue.desk.run("stack", "import", *words)

    assert outcome.status in (2, 3)
    assert "Traceback" not in outcome.err
    assert queue.desk.stack_files() == {}


def test_a_stranger_s_mail_that_writes_to_git_s_own_folder(queue: Queue, tmp_path: Path) -> None:
    mails = tmp_path / "mails"
    mails.mkdir()
    (mails / "0001-x.patch").write_text(
        "From: A <a@b>\nSubject: x\n\n---\ndiff --git a/.git/hooks/x b/.git/hooks/x\nnew file mode 100755\n"
        "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n"
    )

    outcome = queue.desk.run("stack", "import", "--am", str(mails))

    assert outcome.status == 2
    assert "no checkout may hold" in outcome.err
    assert queue.desk.stack_files() == {}


# -- export ------------------------------------------------------------------------------------------------


@pytest.fixture
def carried(queue: Queue) -> Queue:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {NOTES: notes({10: "ten, ours", 30: "thirty, ours"})})
    return queue


def test_patches_for_git_am(carried: Queue, tmp_path: Path) -> None:
    target = tmp_path / "out"

    document = ran(carried, "export", "--as", "patches", "--to", str(target))

    assert sorted(path.name for path in target.iterdir()) == ["0001-ours-one.patch", "0002-ours-two.patch", "series"]
    assert (target / "series").read_text() == "0001-ours-one.patch\n0002-ours-two.patch\n"
    fresh = clone(carried.upstream, tmp_path / "fresh")
    fresh.git("am", "-q", *map(str, sorted(target.glob("*.patch"))))
    assert fresh.git("rev-parse", "HEAD^{tree}") == carried.fork.git("rev-parse", f"{document['tip']}^{{tree}}")
    assert carried.desk.run("stack", "export", "--as", "patches", "--to", str(target)).status == 2


def test_a_bundle_that_others_can_fetch(carried: Queue, tmp_path: Path) -> None:
    bundle = tmp_path / "stack.bundle"

    document = ran(carried, "export", "--as", "bundle", "--to", str(bundle))

    fresh = clone(carried.upstream, tmp_path / "fresh")
    fresh.git("fetch", "-q", str(bundle), "forkguard/stack")
    assert fresh.git("rev-parse", "FETCH_HEAD") == document["tip"]
    assert fresh.git("rev-list", "--count", f"{carried.base}..FETCH_HEAD") == "2"


def test_a_branch_of_forkguard_s_own(carried: Queue) -> None:
    tip = ran(carried, "export", "--as", "branch")["tip"]
    assert carried.fork.git("rev-parse", "forkguard/stack") == tip
    assert ran(carried, "export", "--as", "branch")["done"] == "it was there already"

    newer = carried.upstream_commit("title (#110)", {NOTES: "a title\n" + text(LINES)})
    moved = ran(carried, "export", "--as", "branch", "--onto", "upstream/master")

    assert moved["done"] == f"moved from {tip[:10]}"
    assert carried.fork.git("merge-base", "forkguard/stack", newer) == newer


def test_somebody_s_commit_on_that_branch_is_left_alone(carried: Queue) -> None:
    carried.fork.git("branch", "forkguard/stack", "production")

    outcome = carried.desk.run("stack", "export", "--as", "branch")

    assert outcome.status == 2
    assert carried.fork.git("rev-parse", "forkguard/stack") == carried.base


def test_a_stack_that_is_not_whole_is_not_exported(carried: Queue, tmp_path: Path) -> None:
    carried.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})
    bundle = tmp_path / "stack.bundle"

    outcome = carried.desk.run("stack", "export", "--as", "bundle", "--to", str(bundle), "--onto", "upstream/master")

    assert outcome.status == 3
    assert outcome.told()[0] == "the stack is not whole on upstream/master: one/0001-ours-one.patch is conflict"
    assert not bundle.exists()


def test_an_upstream_that_is_another_clone(carried: Queue) -> None:
    map_file = carried.desk.path / "upstream-map.toml"
    map_file.write_text(MAP.format(upstream=CLONE))
    carried.upstream.commit("elsewhere (#110)", {"docs/x.txt": "x\n"})

    tip = ran(carried, "export", "--as", "branch", "--onto", "master")["tip"]

    assert carried.fork.git("fsck", "--connectivity-only", "forkguard/stack") == ""
    assert carried.fork.git("rev-parse", "forkguard/stack") == tip


# -- range-diff --------------------------------------------------------------------------------------------


def test_range_diff_of_two_replays(carried: Queue) -> None:
    carried.upstream_commit("elsewhere (#110)", {"docs/x.txt": "x\n"})
    same = ran(carried, "range-diff", carried.base, "upstream/master")
    assert same["same"] is True

    carried.upstream_commit("notes : context (#111)", {NOTES: notes({28: "twenty-eight, theirs"})})
    differs = ran(carried, "range-diff", carried.base, "upstream/master")

    assert differs["same"] is False
    assert "1:  " in differs["text"]
    assert "ours: two" in differs["text"]
    assert "twenty-eight, theirs" in carried.desk.run("stack", "range-diff", carried.base, "upstream/master").out


def test_range_diff_with_the_branch_that_was_exported(carried: Queue) -> None:
    ran(carried, "export", "--as", "branch")
    carried.upstream_commit("elsewhere (#110)", {"docs/x.txt": "x\n"})

    assert ran(carried, "range-diff", "forkguard/stack", "upstream/master")["same"] is True


def test_a_branch_without_own_commits(carried: Queue) -> None:
    outcome = carried.desk.run("stack", "import", "--from-branch", "production")

    assert outcome.status == 2
    assert outcome.told()[0] == "there is nothing to import"
