"""`forkguard gate` where the map asks for speed and right answers: what the command says, exits with and writes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from forkguard.adapters.gguf_files import write_model
from forkguard.workflows.probe import write_probe
from tests.support.commands import Outcome, forkguard
from tests.support.porting import Desk, make_desk
from tests.support.repos import MiniHistory
from tests.support.scripted_server import Behaviour, write_server

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/gate.json").read_text())
PROMPTS = '[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n'
QUESTIONS = "".join(
    json.dumps({"prompt": f"{number}?", "answer": f"{number}", "grade": "exact", "tokens": 9}) + "\n"
    for number in range(1, 8)
)
RIGHT = {f"{number}?": f"{number}" for number in range(1, 8)}
FAST = Behaviour(rate=50.0, draft_rate=80.0, prompt_n=9, drafted=9, accepted=3, replies=RIGHT)


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    desk = make_desk(tmp_path)
    pair = write_probe("lfm2", desk.path, write=write_model)
    assert pair.draft is not None
    (desk.path / "prompts.toml").write_text(PROMPTS)
    (desk.path / "questions.jsonl").write_text(QUESTIONS)
    with (desk.path / "upstream-map.toml").open("a") as map_:
        map_.write(
            f'[arch.heron.gate]\ntarget = "{Path(pair.target.path).name}"\ndraft = "{Path(pair.draft.path).name}"\n'
            'spec_type = "draft-odd"\nwidths = [2]\nslots = [1]\nprompts = "prompts.toml"\n'
            'checks = ["crash", "performance", "quality"]\nquestions = "questions.jsonl"\n'
        )
    return desk


def run(desk: Desk, behaviour: Behaviour, *words: str) -> Outcome:
    server = write_server(desk.path / "bin", behaviour)
    return forkguard("gate", "--arch", "heron", "--binary", server, *words, cwd=desk.path)


def document(outcome: Outcome) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(result, SCHEMA)
    return result


def checks(result: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["verdict"], one["class"]) for one in result["checks"]}


def test_speed_and_quality_are_in_the_receipt_and_the_next_run_is_held_against_it(desk: Desk) -> None:
    outcome = run(desk, FAST, "--format", "json")
    assert outcome.status == 0, outcome.err + outcome.out
    first = document(outcome)
    assert checks(first) == {"crash": ("pass", None), "performance": ("pass", "faster"), "quality": ("pass", "same")}
    speed = first["measurements"]["performance"]
    assert [cell["median"] for cell in speed["cells"]] == pytest.approx([50.0, 80.0])
    assert len(speed["recorded"]["samples"]) == 2 * 3 * 2
    assert speed["recorded"]["arms"][1] == {"name": "draft-2", "draft": "draft-odd", "width": 2}
    assert set(speed["recorded"]["subject"]) == {"prompts", "args", *(model["name"] for model in first["models"])}
    assert [score["right"] for score in first["measurements"]["quality"]["scores"]] == [7, 7]
    slower = Behaviour(rate=50.0, draft_rate=60.0, prompt_n=9, drafted=9, accepted=3, replies=RIGHT)
    again = document(run(desk, slower, "--format", "json"))
    assert again["checks"][1]["detail"].startswith("draft-2 fell from 80.0 to 60.0 tok/s (-25.0 %)")
    assert again["verdict"] in {"fail", "inconclusive"}  # inconclusive where this machine is busy


def test_a_slower_draft_is_red_with_its_table(desk: Desk) -> None:
    slow = Behaviour(rate=50.0, draft_rate=40.0, prompt_n=9, drafted=9, accepted=8, replies=RIGHT)
    outcome = run(desk, slow)
    assert outcome.status == 1, outcome.err
    assert "draft-2 -20.0 % (-20.0 % to -20.0 %): must not ship" in outcome.out
    assert "  draft-2   one   9       3     40     0.0 %   -20.0 % (-20.0 to -20.0), slower  89%" in outcome.out
    assert "    drift explains it: " in outcome.out
    assert outcome.out.splitlines()[-1] == "next: forkguard port 201"


def test_faster_and_worse_is_red(desk: Desk) -> None:
    wrong = Behaviour(
        rate=50.0, draft_rate=80.0, prompt_n=9, drafted=9, accepted=3, replies=RIGHT,
        draft_replies=dict.fromkeys(RIGHT, "?"),
    )  # fmt: skip
    outcome = run(desk, wrong)
    assert outcome.status == 1, outcome.err
    assert (
        "  quality: faster and worse: 0 of 7 right (draft-2) against 7 of 7 right (no-draft): McNemar" in outcome.out
    )
    assert outcome.out.splitlines()[-1] == "next: forkguard drift --arch heron"


def test_a_gate_that_is_red_already_is_not_measured(desk: Desk) -> None:
    result = document(run(desk, Behaviour(answers=("abort",)), "--format", "json"))
    assert checks(result)["performance"] == ("inconclusive", "not-measured")
    assert result["checks"][1]["detail"] == "not measured: the gate is red without it"
    assert "measurements" not in result


def test_questions_that_are_not_named_or_not_readable_are_said(desk: Desk) -> None:
    map_ = desk.path / "upstream-map.toml"
    whole = map_.read_text()
    map_.write_text(whole.replace('questions = "questions.jsonl"\n', "").replace('"performance", ', ""))
    result = document(run(desk, FAST, "--format", "json"))
    assert result["checks"][1]["detail"] == "not measured: the map names no file of `questions`"
    assert "measurements" not in result
    map_.write_text(whole.replace("questions.jsonl", "none.jsonl"))
    outcome = run(desk, FAST)
    assert outcome.status == 3
    assert "the questions cannot be read" in outcome.err
    map_.write_text(whole)
    (desk.path / "questions.jsonl").write_text("{}\n")
    outcome = run(desk, FAST)
    assert outcome.status == 2
    assert "questions.jsonl:1" in outcome.err
