"""`forkguard gate` with a probe: the map chooses it and its draft, whose type may need no file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Outcome, forkguard
from tests.support.porting import Desk, make_desk
from tests.support.repos import MiniHistory
from tests.support.scripted_server import Behaviour, write_server

PROMPTS = '[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n'


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    desk = make_desk(tmp_path)
    (desk.path / "prompts.toml").write_text(PROMPTS)
    return desk


def gate(desk: Desk, *, probe: str, spec_type: str) -> Outcome:
    path = desk.path / "upstream-map.toml"
    own = f'\n[arch.heron.gate]\nspec_type = "{spec_type}"\nwidths = [2]\nslots = [1]\nprompts = "prompts.toml"\n'
    path.write_text(path.read_text().replace("[arch.heron]\n", f'[arch.heron]\nprobe = "{probe}"\n') + own)
    server = write_server(desk.path / "bin", Behaviour())
    return forkguard("gate", "--arch", "heron", "--binary", server, "--format", "json", cwd=desk.path)


def command(document: dict[str, Any], name: str) -> list[str]:
    (arm,) = [arm for arm in document["arms"] if arm["name"] == name]
    words: list[str] = arm["command"]
    return words


def test_the_maps_spec_type_chooses_the_probes_draft(desk: Desk) -> None:
    outcome = gate(desk, probe="qwen35", spec_type="draft-mtp")
    assert outcome.status == 0, outcome.err
    document = json.loads(outcome.out)
    assert [(Path(model["name"]).name, model["arch"]) for model in document["models"]] == [
        ("qwen35-small-target.gguf", "qwen35"), ("qwen35-small-mtp.gguf", "qwen35"),
    ]  # fmt: skip
    words = command(document, "draft-2")
    assert Path(words[words.index("-md") + 1]).name == "qwen35-small-mtp.gguf"
    assert words[words.index("--spec-type") + 1] == "draft-mtp"


def test_a_draft_without_a_file_has_no_model_and_words_of_its_own(desk: Desk) -> None:
    outcome = gate(desk, probe="mamba", spec_type="ngram-simple")
    document = json.loads(outcome.out)
    assert [Path(model["name"]).name for model in document["models"]] == ["mamba-small-target.gguf"]
    words = command(document, "draft-2")
    assert "-md" not in words
    assert words[words.index("--spec-type") + 1 :][:3] == ["ngram-simple", "--spec-draft-n-max", "2"]
    assert words[words.index("--spec-ngram-simple-size-n") + 1] == "2"


def test_a_draft_type_that_the_probe_has_not_is_wrong_use(desk: Desk) -> None:
    outcome = gate(desk, probe="mamba", spec_type="draft-eagle3")
    assert outcome.status == 2
    assert outcome.told()[0] == (
        "the probe for mamba has no draft of the type 'draft-eagle3'; it has: simple, ngram-simple"
    )
