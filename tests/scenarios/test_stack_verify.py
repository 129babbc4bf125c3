"""`forkguard stack verify`: each rule broken on purpose, one at a time."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import LINES, NOTES, Queue, new_queue, notes

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/stack-verify.json").read_text())


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """Two patches, carried, and a production branch that is base plus stack; its commits are in the fork."""
    made = new_queue(tmp_path)
    made.patch("one", {NOTES: notes({10: "ten, ours"})})
    made.patch("two", {NOTES: notes({10: "ten, ours", 30: "thirty, ours"}), "tools/new.sh": "#!/bin/sh\n"})
    produce(made)
    return made


def produce(queue: Queue) -> None:
    """The production branch becomes what the author has."""
    queue.fork.git("fetch", "-q", str(queue.author.path), "HEAD")
    queue.fork.git("reset", "-q", "--hard", "FETCH_HEAD")


def verified(queue: Queue, *, status: int) -> dict[str, Any]:
    before = fork_as_it_is(queue.fork.path)
    document = queue.desk.json("stack", "verify", status=status)
    jsonschema.validate(document, SCHEMA)
    assert fork_as_it_is(queue.fork.path) == before
    return document


def only(document: dict[str, Any]) -> tuple[str, str, str]:
    """The one finding."""
    (finding,) = document["findings"]
    return finding["kind"], finding["where"], finding["what"]


def test_a_whole_stack(queue: Queue) -> None:
    document = verified(queue, status=0)

    assert document["findings"] == []
    assert document["same_tree"] is True
    assert document["uncovered"] == []
    assert document["checked"] == {"exports": 2, "patches": 2}
    out = queue.desk.run("stack", "verify").out
    assert out.startswith(f"the stack is whole: 2 patches on {queue.base[:10]}, production\n")


def test_two_patches_of_one_number(queue: Queue) -> None:
    folder = queue.desk.path / "patchsets" / "one"
    (folder / "0001-other.patch").write_bytes((folder / "0001-ours-one.patch").read_bytes())

    findings = verified(queue, status=1)["findings"]

    assert [(each["kind"], each["where"]) for each in findings] == [
        ("file", "one/0001-other.patch"),
        ("number", "one/0001-other.patch"),
    ]
    assert findings[1]["what"] == "number 1 is used 2 times: 0001-other.patch, 0001-ours-one.patch"


def test_two_patchsets_of_one_number(queue: Queue) -> None:
    root = queue.desk.path / "patchsets"
    for old, new in (("one", "0003-one"), ("two", "0003-two")):
        (root / old).rename(root / new)
    (root / "series").write_text("0003-one\n0003-two\n")

    assert only(verified(queue, status=1)) == ("number", "0003-one", "number 3 is used 2 times: 0003-one, 0003-two")


def test_a_listed_patch_without_a_file(queue: Queue) -> None:
    (queue.desk.path / "patchsets/two/0001-ours-two.patch").unlink()

    kinds = [(each["kind"], each["where"]) for each in verified(queue, status=1)["findings"]]
    assert kinds[0] == ("file", "two/series")
    assert "tree" in [kind for kind, _ in kinds]


def test_the_order_names_what_is_not_there_and_leaves_out_what_is(queue: Queue) -> None:
    (queue.desk.path / "patchsets/series").write_text("one\nthree\none\n")

    what = [each["what"] for each in verified(queue, status=1)["findings"] if each["kind"] == "series"]

    assert what == [
        "one is listed 2 times",
        "three is listed, and there is no such patchset",
        "two is carried and the series does not list it",
    ]


def test_the_numbers_follow_the_order(queue: Queue) -> None:
    folder = queue.desk.path / "patchsets" / "one"
    extra = folder / "0000-x.patch"
    extra.write_bytes((folder / "0001-ours-one.patch").read_bytes())
    (folder / "series").write_text("0001-ours-one.patch\n0000-x.patch\n")

    assert "number" in [each["kind"] for each in verified(queue, status=1)["findings"]]


@pytest.mark.parametrize("field", ["Origin: vendor\n", "Forwarded: no\n"])
def test_a_dep3_field_that_is_missing(queue: Queue, field: str) -> None:
    file = queue.desk.path / "patchsets/one/0001-ours-one.patch"
    file.write_text(file.read_text().replace(field, ""))

    assert only(verified(queue, status=1)) == (
        "dep3",
        "one/0001-ours-one.patch",
        f"without the DEP-3 field {field.partition(':')[0]}",
    )


def test_one_byte_that_somebody_edited(queue: Queue) -> None:
    file = queue.desk.path / "patchsets/one/0001-ours-one.patch"
    text = file.read_text()
    file.write_text(text.replace("+ten, ours", "+ten,  ours"))

    document = verified(queue, status=1)

    kinds = [each["kind"] for each in document["findings"]]
    line = 1 + text.split("\n").index("+ten, ours")
    assert kinds == ["export", "tree"]  # white space alone does not count as lost
    assert document["findings"][0]["what"].endswith(f": line {line} differs")


def test_an_export_whose_commit_is_elsewhere_is_said_to_be_unchecked(queue: Queue) -> None:
    queue.patch("three", {"README.md": "ours\n"})

    document = verified(queue, status=1)

    assert [each["kind"] for each in document["findings"]] == ["tree", "lost"]
    (note,) = document["notes"]
    assert note.startswith("three/0001-ours-three.patch: its commit ")
    assert note.endswith("is not in this clone; the export was not compared")


def test_a_patch_that_does_not_apply_in_its_place(queue: Queue) -> None:
    queue.patch("three", {NOTES: notes({10: "ten, at last", 30: "thirty, ours"})})
    produce(queue)
    assert verified(queue, status=0)["same_tree"] is True
    (queue.desk.path / "patchsets/series").write_text("three\none\ntwo\n")

    findings = verified(queue, status=1)["findings"]

    assert [(each["kind"], each["where"]) for each in findings if each["kind"] == "apply"] == [
        ("apply", "three/0001-ours-three.patch")
    ]


def test_commits_that_no_patchset_covers_are_listed(queue: Queue) -> None:
    queue.fork.git("config", "user.name", "Ada")
    own = queue.fork.commit("ours: by hand", {"README.md": "by hand\n"})

    document = verified(queue, status=1)

    assert [each["commit"] for each in document["uncovered"]] == [own]
    assert [each["kind"] for each in document["findings"]] == ["tree", "uncovered"]
    assert document["findings"][0]["what"] == (
        "base plus stack is not the tree of production: 1 files differ (README.md)"
    )


def test_a_merge_that_wiped_a_patch_is_named(queue: Queue) -> None:
    queue.upstream_commit("elsewhere (#300)", {"docs/x.txt": "x\n"})
    queue.fork.clock = queue.upstream.clock
    queue.fork.commit("ours: a service", {"deploy/a.service": "a\n"})
    queue.fork.git("merge", "-q", "--no-commit", "upstream/master")
    wiped = queue.fork.commit("Merge upstream/master", {NOTES: notes({30: "thirty, ours"})})
    queue.fork.commit("ours: a service, again", {"deploy/a.service": "b\n"})

    document = verified(queue, status=1)

    (lost,) = [each for each in document["findings"] if each["kind"] == "lost"]
    assert lost["where"] == "one/0001-ours-one.patch"
    assert lost["what"] == (
        f"1 of its lines are no longer in {NOTES} of production, since {wiped[:10]} Merge upstream/master"
    )
    assert lost["fix"] == f"git show -m {wiped[:10]}  shows what happened"


def test_a_patch_that_production_never_had(queue: Queue) -> None:
    queue.patch("three", {"README.md": "ours\n"})

    (lost,) = [each for each in verified(queue, status=1)["findings"] if each["kind"] == "lost"]

    assert (lost["where"], lost["what"]) == ("three/0001-ours-three.patch", "production does not have it: README.md")


def test_a_port_that_is_not_merged_yet_is_to_be_merged(queue: Queue) -> None:
    queue.upstream_commit("a request (#300)", {"docs/x.txt": "x\n"})
    queue.desk.json("port", "300", status=0)

    (lost,) = [each for each in verified(queue, status=1)["findings"] if each["kind"] == "lost"]
    assert lost["where"].startswith("300/0001-")
    assert lost["what"] == "production does not have it yet: docs/x.txt"
    assert lost["fix"] == "git merge forkguard/300  into production"

    queue.fork.git("merge", "-q", "forkguard/300")
    assert not verified(queue, status=0)["findings"]


# -- removals ------------------------------------------------------------------------------------------------

WITHOUT = notes(dict.fromkeys(range(20, 24)))


@pytest.fixture
def removing(tmp_path: Path) -> Queue:
    made = new_queue(tmp_path)
    made.patch("gone", {NOTES: WITHOUT})
    produce(made)
    return made


def test_upstream_lines_that_go_unsaid(removing: Queue) -> None:
    assert only(verified(removing, status=1)) == (
        "removes",
        "gone/0001-ours-gone.patch",
        f"it takes 4 of upstream's lines out of {NOTES} and does not say so",
    )


@pytest.mark.parametrize(
    "said", ['removes = ["docs/notes.txt"]\n', 'removes = ["docs/*"]\n', 'why = "notes.txt is too long"\n']
)
def test_a_removal_that_the_manifest_names(removing: Queue, said: str) -> None:
    manifest = removing.desk.path / "patchsets/gone/patchset.toml"
    text = "".join(line for line in manifest.read_text().splitlines(keepends=True) if not line.startswith("why"))
    manifest.write_text(text + said)

    assert verified(removing, status=0)["findings"] == []


@pytest.mark.parametrize("subject", ["ours: shorter notes.txt", "ours\n\nRemoves: docs/notes.txt"])
def test_a_removal_that_the_message_names(tmp_path: Path, subject: str) -> None:
    queue = new_queue(tmp_path)
    queue.patch("gone", {NOTES: WITHOUT}, subject=subject)
    produce(queue)

    assert verified(queue, status=0)["findings"] == []


def test_lines_of_an_earlier_patch_are_not_upstream_s(queue: Queue) -> None:
    queue.patch("three", {NOTES: notes({30: "thirty, ours"})}, subject="ours: ten as it was")
    queue.patch("four", {}, removed=("tools/new.sh",), subject="ours: no tool")
    produce(queue)

    assert verified(queue, status=0)["findings"] == []


def test_a_line_that_is_replaced_is_not_removed(tmp_path: Path) -> None:
    queue = new_queue(tmp_path)
    queue.patch("one", {NOTES: notes({number: f"{LINES[number - 1]}, ours" for number in range(10, 20)})})
    produce(queue)

    assert verified(queue, status=0)["findings"] == []


def test_a_deleted_file_is_a_removal(tmp_path: Path) -> None:
    queue = new_queue(tmp_path)
    queue.patch("gone", {}, removed=(NOTES,))
    produce(queue)

    assert only(verified(queue, status=1))[0] == "removes"
