"""`forkguard probe`, as a whole command."""

import hashlib
import json
from pathlib import Path

import jsonschema

from tests.support.commands import forkguard

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "probe.json"


def test_two_files_and_how_to_run_them(tmp_path: Path) -> None:
    outcome = forkguard("probe", "lfm2", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    command = (
        "llama-server -m lfm2-small-target.gguf -md lfm2-small-dspark.gguf"
        " --spec-type draft-dspark --spec-draft-n-max 3 -t 1"
    )
    assert outcome.out.splitlines() == [
        "lfm2-small-target.gguf  787 kB  target, arch lfm2",
        "lfm2-small-dspark.gguf  151 kB  draft, arch dflash, up to 8 tokens at once",
        f"run them: {command}",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lfm2-small-dspark.gguf", "lfm2-small-target.gguf"]


def test_json_holds_against_its_schema(tmp_path: Path) -> None:
    outcome = forkguard(
        "probe", "lfm2", "--size", "deep", "--seed", "3", "--output", "a b", "--format", "json", cwd=tmp_path
    )
    document = json.loads(outcome.out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert (document["arch"], document["size"], document["seed"], document["max_width"]) == ("lfm2", "deep", 3, 64)
    for role, name in (("target", "lfm2-deep-target.gguf"), ("draft", "lfm2-deep-dspark.gguf")):
        file = document[role]
        assert file["path"] == f"a b/{name}"
        content = (tmp_path / file["path"]).read_bytes()
        assert (file["sha256"], file["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))


def test_an_arch_without_a_probe(tmp_path: Path) -> None:
    outcome = forkguard("probe", "qwen35", cwd=tmp_path)
    assert outcome.status == 2
    what, where, following = outcome.told()
    assert what == "there is no probe for the arch 'qwen35'; there is one for: lfm2"
    assert where == ""
    assert following.startswith("name model files of your own")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    outcome = forkguard("probe", "lfm2", "--output", "file/folder", cwd=tmp_path)
    assert outcome.status == 3
    assert outcome.told()[1] == "file/folder/lfm2-small-target.gguf"
