"""`forkguard port` of a request that forkguard ships a manifest for."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.porting import Desk, branch_of_requests, make_desk
from tests.support.repos import MiniHistory
from tools.dist import ROOT

SCHEMA = json.loads((ROOT / "docs/schemas/port.json").read_text())


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    branch_of_requests(
        history,
        ("spec : drafts, as upstream calls it (#27383)", {"a.txt": "a\n"}),
        ("llama : a larger budget (#29085)", {"b.txt": "b\n"}),
    )
    return make_desk(tmp_path)


def manifest_of(folder: Path, name: str) -> dict[str, Any]:
    return tomllib.loads((folder / "patchsets" / name / "patchset.toml").read_text())


def test_a_known_request_begins_with_what_forkguard_knows(desk: Desk, history: MiniHistory) -> None:
    document = desk.json("port", "27383", status=0)

    jsonschema.validate(document, SCHEMA)
    shipped = manifest_of(ROOT, "27383")
    assert [(item["pr"], item["commit"]) for item in document["follow_ups"]] == [(29085, None)]
    assert document["follow_ups"][0]["why"] == shipped["follow-ups"][0]["why"]
    made = {"upstream": document["source"]["commits"], "base": history.base, "state": "carried"}
    assert manifest_of(desk.path, "27383") == shipped | made
    shown = desk.json("stack", "show", "27383", status=0)
    assert shown["why"].startswith("Without it every DFlash, DSpark and EAGLE3 draft of an LFM2 target aborts")
    assert shown["drop_when"] == "The production branch is based on b10549 or later: the change is upstream's then."
    assert shown["checks"] == ["crash", "liveness", "determinism", "fallback"]


def test_its_follow_ups_are_told_before_anything_is_written(desk: Desk) -> None:
    outcome = desk.run("port", "27383", "--dry-run")

    lines = outcome.out.splitlines()
    at = lines.index("Follow-ups")
    assert lines[at + 1].startswith("  #29085  LFM2 and LFM2MOE need the larger node budget of graph_max_nodes()")
    assert not (desk.path / "patchsets").exists()


def test_its_prerequisites_come_along_and_are_told_where_they_are_not_there(desk: Desk) -> None:
    document = desk.json("port", "29085", status=0)

    shipped = manifest_of(ROOT, "29085")["prerequisites"]
    assert manifest_of(desk.path, "29085")["prerequisites"] == shipped
    told = f"#27383 comes first, and neither the stack nor the fork's history names it: {shipped[0]['why']}"
    assert told in document["notes"]


@pytest.mark.parametrize("by", ["stack", "history"])
def test_prerequisites_that_are_there_are_not_told(by: str, desk: Desk, history: MiniHistory) -> None:
    desk.json("port", "27383", status=0)
    if by == "history":
        history.fork.git("merge", "-q", "forkguard/27383")
        (desk.path / "patchsets/series").unlink()

    document = desk.json("port", "29085", status=0)

    assert not any("comes first" in note for note in document["notes"])


def test_the_same_port_again_writes_the_same_manifest(desk: Desk) -> None:
    desk.json("port", "27383", status=0)
    files = desk.stack_files()
    desk.json("port", "27383", status=0)

    assert desk.stack_files() == files


def test_a_manifest_of_ones_own_is_kept_as_it_is(desk: Desk) -> None:
    own = desk.path / "patchsets/27383/patchset.toml"
    own.parent.mkdir(parents=True)
    own.write_text('title = "drafts"\npull = 27383\nstate = "declared"\nwhy = "ours"\n')

    document = desk.json("port", "27383", status=0)

    assert document["follow_ups"] == []
    manifest = manifest_of(desk.path, "27383")
    assert (manifest["title"], manifest["why"], "drop-when" in manifest) == ("drafts", "ours", False)


def test_a_manifest_that_is_no_utf8_is_refused_and_kept(desk: Desk) -> None:
    own = desk.path / "patchsets/27383/patchset.toml"
    own.parent.mkdir(parents=True)
    own.write_bytes(b'title = "\xff"\nstate = "declared"\n')

    outcome = desk.run("port", "27383")

    assert outcome.status == 2
    assert str(own) in outcome.err
    assert own.read_bytes() == b'title = "\xff"\nstate = "declared"\n'
    assert sorted(desk.stack_files()) == ["27383/patchset.toml"]


def test_a_patch_that_happens_to_have_the_number_as_its_name_is_another_change(
    desk: Desk, history: MiniHistory
) -> None:
    patch = desk.path / "27383.patch"
    patch.write_text("--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+c\n")

    document = desk.json("port", str(patch), status=0)

    assert document["follow_ups"] == []
    assert "pull" not in manifest_of(desk.path, document["patchset"])
