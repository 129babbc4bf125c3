"""`forkguard gate --binary`, whole: verdict, exit status, receipt, the JSON's schema, and drift as a witness."""

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
PROMPTS = '[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n[[prompt]]\nname = "two"\ntext = "Two?"\ntokens = 9\n'
LAYER_INPUT = 'graph.cpp:9: GGML_ASSERT(slot != nullptr && "layer input tensor is null") failed'


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    desk = make_desk(tmp_path)
    pair = write_probe("lfm2", desk.path, write=write_model)
    assert pair.draft is not None
    (desk.path / "prompts.toml").write_text(PROMPTS)
    with (desk.path / "upstream-map.toml").open("a") as map_:
        map_.write(
            f'[arch.heron.gate]\ntarget = "{Path(pair.target.path).name}"\ndraft = "{Path(pair.draft.path).name}"\n'
            'spec_type = "draft-odd"\nwidths = [2]\nprompts = "prompts.toml"\n'
        )
    return desk


def run(desk: Desk, behaviour: Behaviour, *words: str) -> Outcome:
    server = write_server(desk.path / "bin", behaviour)
    return forkguard("gate", "--arch", "heron", "--binary", server, *words, cwd=desk.path)


def receipts(desk: Desk) -> list[Path]:
    return sorted((desk.path / ".forkguard" / "receipts").glob("*/receipt.json"))


def document(outcome: Outcome) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(result, SCHEMA)
    return result


def test_a_pass_writes_the_same_receipt_as_it_prints(desk: Desk) -> None:
    outcome = run(desk, Behaviour(), "--format", "json")
    assert outcome.status == 0, outcome.err + outcome.out
    result = document(outcome)
    (receipt,) = receipts(desk)
    assert receipt.read_text() == outcome.out
    assert (result["verdict"], result["arch"], result["tree"]["commit"]) == ("pass", "heron", None)
    assert [model["arch"] for model in result["models"]] == ["lfm2", "dflash"]
    assert [arm["name"] for arm in result["arms"]] == [
        "no-draft-1", "no-draft-2", "draft-2", "no-draft-slots-2", "draft-2-slots-2", "draft-2-verbose",
    ]  # fmt: skip
    assert (result["upstream"], result["settings"]["policy"]) == (None, "near-tie")
    assert all((receipt.parent / arm["end"]["log"]).is_file() for arm in result["arms"])
    command = result["arms"][2]["command"]
    assert command[command.index("--spec-type") + 1 :][:3] == ["draft-odd", "--spec-draft-n-max", "2"]
    assert {one["name"] for one in result["not_run"]} == {"performance", "quality"}
    assert (desk.path / ".forkguard" / ".gitignore").read_text() == "*\n"


def test_a_crash_that_drift_explains_names_the_finding_and_the_port(desk: Desk) -> None:
    behaviour = Behaviour(answers=("abort",), only_drafting=True, abort_line=LAYER_INPUT)
    outcome = run(desk, behaviour, "--format", "json")
    assert outcome.status == 1, outcome.err
    crash = document(outcome)["checks"][0]
    assert (crash["verdict"], crash["class"]) == ("fail", "abort")
    assert (crash["evidence"][0]["stage"], crash["evidence"][0]["signal"]) == ("first decode", "SIGABRT")
    (suspect,) = crash["suspects"]
    assert (suspect["pr"], suspect["command"]) == (201, "forkguard port 201")
    assert suspect["finding"].startswith("heron/layer-input/")
    text = run(desk, behaviour).out
    assert text.splitlines()[0].startswith("gate RED: heron on ")
    assert text.splitlines()[-1] == "next: forkguard port 201"
    assert "    when:   only with the draft" in text.splitlines()
    assert "  --    not run: performance, quality: the map does not ask for it" in text.splitlines()


def test_upstreams_server_names_the_culprit_and_stands_in_the_receipt(desk: Desk) -> None:
    theirs = write_server(desk.path / "theirs", Behaviour())
    outcome = run(
        desk, Behaviour(answers=("abort",), only_drafting=True), "--upstream-binary", str(theirs), "--format", "json"
    )
    result = document(outcome)
    assert (outcome.status, result["checks"][0]["culprit"], result["checks"][0]["trigger"]) == (
        1, "fork", "only with the draft",
    )  # fmt: skip
    assert (result["upstream"]["binary"], result["upstream"]["commit"]) == (str(theirs), None)
    assert result["settings"]["policy"] == "differential"
    assert [arm["name"] for arm in result["arms"] if arm["side"] == "upstream"] == [
        "upstream-no-draft-1", "upstream-no-draft-2", "upstream-draft-2", "upstream-no-draft-slots-2",
        "upstream-draft-2-slots-2",
    ]  # fmt: skip
    assert all(arm["complete"] for arm in result["arms"] if arm["side"] == "upstream")


def test_every_draft_file_of_the_map_has_arms_of_its_own(desk: Desk) -> None:
    path = desk.path / "upstream-map.toml"
    text = path.read_text()
    draft = text.partition('draft = "')[2].partition('"')[0]
    (desk.path / "other.gguf").write_bytes((desk.path / draft).read_bytes())
    path.write_text(
        text + 'drafts = [{file = "other.gguf", spec_type = "draft-eagle3"}]\nslots = [1]\nargs = ["--odd", "9"]\n'
    )
    result = document(run(desk, Behaviour(), "--format", "json"))
    stem = draft.removesuffix(".gguf")
    arms = {arm["name"]: arm for arm in result["arms"]}
    assert list(arms) == [
        "no-draft-1", "no-draft-2", f"draft-{stem}-2", "draft-other-2", f"draft-{stem}-2-verbose",
        "draft-other-2-verbose",
    ]  # fmt: skip
    command = arms["draft-other-2"]["command"]
    assert command[command.index("-md") + 1 :][:3] == [str(desk.path / "other.gguf"), "--spec-type", "draft-eagle3"]
    own = arms[f"draft-{stem}-2"]["command"]
    assert own[own.index("--spec-type") + 1] == "draft-odd"
    assert command[-2:] == ["--odd", "9"]
    assert [model["name"] for model in result["models"]][1:] == [draft, "other.gguf"]


def test_every_target_file_of_the_map_has_arms_of_its_own(desk: Desk) -> None:
    path = desk.path / "upstream-map.toml"
    text = path.read_text()
    target = text.partition('target = "')[2].partition('"')[0]
    (desk.path / "big.gguf").write_bytes((desk.path / target).read_bytes())
    path.write_text(text + 'targets = ["big.gguf"]\nslots = [1]\n')
    result = document(run(desk, Behaviour(), "--format", "json"))
    stem = target.removesuffix(".gguf")
    arms = {arm["name"]: arm for arm in result["arms"]}
    assert list(arms) == [
        f"target-{name}-{arm}" for name in (stem, "big") for arm in ("no-draft-1", "no-draft-2", "draft-2",
                                                                     "draft-2-verbose")
    ]  # fmt: skip
    assert {arm["command"][arm["command"].index("-m") + 1] for arm in arms.values() if "big" in arm["name"]} == {
        str(desk.path / "big.gguf")
    }
    assert ([model["name"] for model in result["models"]][:2], result["verdict"]) == ([target, "big.gguf"], "pass")


def test_a_crash_that_drift_does_not_explain_names_none(desk: Desk) -> None:
    crash = document(run(desk, Behaviour(answers=("abort",), only_drafting=True), "--format", "json"))["checks"][0]
    assert crash["suspects"] == []


def test_a_fork_that_is_not_there_does_not_hide_the_crash(desk: Desk) -> None:
    outcome = run(desk, Behaviour(answers=("kill",)), "--format", "json", "--fork", str(desk.path / "nowhere"))
    result = document(outcome)
    assert (outcome.status, result["verdict"]) == (1, "fail")
    assert len(result["warnings"]) == 1


def test_corruption_exits_1_and_no_drafts_exit_3(desk: Desk) -> None:
    corrupt = run(desk, Behaviour(diverge_at=3), "--format", "json")
    assert (corrupt.status, document(corrupt)["checks"][2]["class"]) == (1, "corruption")
    idle = run(desk, Behaviour(drafted=0), "--format", "json")
    assert (idle.status, document(idle)["verdict"]) == (3, "inconclusive")
    assert len(receipts(desk)) == 2


def test_escapes_of_a_server_reach_no_terminal(desk: Desk) -> None:
    behaviour = Behaviour(answers=("abort",), abort_line="pot.cpp:1: GGML_ASSERT(\x1b[31mred\x1b]0;owned\x07) failed")
    outcome = run(desk, behaviour, "--color")
    assert outcome.status == 1
    assert not {"\x1b", "\x07"} & set(outcome.out)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--arch", "nobody"), 2),
        (("--arch", "heron", "--binary", "nowhere"), 2),
        (("--arch", "heron", "--binary", "bin", "--profile", "cpu"), 2),
        (("--arch", "heron", "--width", "0"), 2),
        (("--arch", "heron", "--slots", "0"), 2),
        (("--arch", "heron", "--upstream", "--upstream-binary", "bin"), 2),
        (("--arch", "heron", "--upstream-binary", "nowhere"), 2),
    ],
)
def test_wrong_use_says_what_to_type(desk: Desk, words: tuple[str, ...], status: int) -> None:
    outcome = forkguard("gate", *words, cwd=desk.path)
    assert (outcome.status, outcome.out) == (status, "")
    assert not receipts(desk)
