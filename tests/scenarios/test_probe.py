"""`forkguard probe`, as a whole command."""

import hashlib
import json
from pathlib import Path

import jsonschema

from tests.support.commands import forkguard

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


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
    jsonschema.validate(document, json.loads((SCHEMAS / "probe.json").read_text()))
    assert (document["arch"], document["size"], document["seed"], document["max_width"]) == ("lfm2", "deep", 3, 64)
    for role, name in (("target", "lfm2-deep-target.gguf"), ("draft", "lfm2-deep-dspark.gguf")):
        file = document[role]
        assert file["path"] == f"a b/{name}"
        content = (tmp_path / file["path"]).read_bytes()
        assert (file["sha256"], file["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))


def test_an_arch_without_a_probe(tmp_path: Path) -> None:
    outcome = forkguard("probe", "bert", cwd=tmp_path)
    assert outcome.status == 2
    what, where, following = outcome.told()
    assert what.startswith("there is no probe for the arch 'bert'; there is one for: deepseek2, ")
    assert where == ""
    assert following.startswith("name model files of your own")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    outcome = forkguard("probe", "lfm2", "--output", "file/folder", cwd=tmp_path)
    assert outcome.status == 3
    assert outcome.told()[1] == "file/folder/lfm2-small-target.gguf"


def test_a_draft_type_without_a_model_has_words_for_the_server(tmp_path: Path) -> None:
    outcome = forkguard("probe", "mamba", "--draft", "ngram-simple", cwd=tmp_path)
    command = (
        "llama-server -m mamba-small-target.gguf --spec-type ngram-simple --spec-draft-n-max 3"
        " --spec-ngram-simple-size-n 2 --spec-ngram-simple-size-m 4 -t 1"
    )
    assert outcome.out.splitlines() == [
        "mamba-small-target.gguf  683 kB  target, arch mamba",
        f"run it: {command}",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["mamba-small-target.gguf"]
    document = json.loads(
        forkguard("probe", "mamba", "--draft", "ngram-simple", "--format", "json", cwd=tmp_path).out
    )
    jsonschema.validate(document, json.loads((SCHEMAS / "probe.json").read_text()))
    assert (document["draft"], document["args"][:2]) == (None, ["--spec-ngram-simple-size-n", "2"])


def test_the_list_of_probes(tmp_path: Path) -> None:
    listed = forkguard("probe", "--list", cwd=tmp_path)
    lines = [line.split(maxsplit=1) for line in listed.out.splitlines()]
    assert (listed.status, lines[0][0]) == (0, "ARCH")
    assert ["lfm2moe", "hybrid          small        dspark, simple, dflash, eagle3, ngram-simple"] in lines
    document = json.loads(forkguard("probe", "--list", "--format", "json", cwd=tmp_path).out)
    jsonschema.validate(document, json.loads((SCHEMAS / "probes.json").read_text()))
    assert [probe["arch"] for probe in document["probes"]] == [line[0] for line in lines[1:]]
    (moe,) = [probe for probe in document["probes"] if probe["arch"] == "mixtral"]
    assert (moe["architecture"], moe["kind"]) == ("llama", "MoE")
    assert list(tmp_path.iterdir()) == []


def test_an_arch_and_the_list_at_once_or_neither_is_wrong_use(tmp_path: Path) -> None:
    one = "probe takes an arch or --list"
    for words, what in (((), one), (("lfm2", "--list"), f"{one}, not both")):
        outcome = forkguard("probe", *words, cwd=tmp_path)
        assert outcome.status == 2
        assert outcome.told() == (what, "", "forkguard probe --list")
