"""The gate goes from red to green on real builds of one fork: four branches, four verdicts."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest

from forkguard.adapters.gguf_files import write_model
from forkguard.adapters.server_family import MARKER
from forkguard.core.probes.models import Model
from forkguard.workflows.probe import write_probe
from tests.support.commands import forkguard

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600), pytest.mark.usefixtures("build_turn")]

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/gate.json").read_text())
MAP = """\
[fork]
path = "{fork}"
ref = "production"

[upstream]
remote = "upstream"
ref = "upstream/master"

[arch.lfm2]
enum = "LLM_ARCH_LFM2"
files = ["src/models/lfm2.cpp"]
"""
ASSERT = 'GGML_ASSERT(t_layer_inp[il] != nullptr && "layer input tensor is null") failed'


@pytest.fixture
def desk(real_fork: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with a map of the real fork; no server may be left when the test is over."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "upstream-map.toml").write_text(MAP.format(fork=real_fork))
    yield folder
    assert [process.pid for process in psutil.process_iter() if _is_server(process)] == []


def _is_server(process: psutil.Process) -> bool:
    try:
        environment = process.environ()
        ours = MARKER in environment and environment.get("HOME") == os.environ["HOME"]
        return ours and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def gate(desk: Path, ref: str, *words: str, status: int) -> dict[str, Any]:
    outcome = forkguard("gate", "--arch", "lfm2", "--fork-ref", ref, *words, "--format", "json", cwd=desk)
    assert outcome.status == status, outcome.err + outcome.out
    document: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    receipts = sorted(
        (desk / ".forkguard" / "receipts").glob("*/receipt.json"), key=lambda path: path.stat().st_mtime
    )
    assert json.loads(receipts[-1].read_text()) == document
    return document


def check(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [check for check in document["checks"] if check["name"] == name]
    assert isinstance(found, dict)
    return found


def test_production_aborts_at_the_first_decode_and_drift_says_why(desk: Path) -> None:
    document = gate(desk, "production", status=1)
    crash = check(document, "crash")
    assert (document["verdict"], crash["verdict"], crash["class"]) == ("fail", "fail", "abort")
    first = crash["evidence"][0]
    assert (first["stage"], first["signal"], first["text"]) == ("first decode", "SIGABRT", ASSERT)
    assert {one["arm"] for one in crash["evidence"]} == {
        "draft-3", "draft-7", "draft-3-slots-2", "draft-7-slots-2", "draft-3-verbose",
    }  # fmt: skip
    assert crash["trigger"] == "only with the draft"
    (suspect,) = [one for one in crash["suspects"] if one["finding"].startswith("lfm2/layer-input/")]
    assert (suspect["pr"], suspect["command"]) == (27383, "forkguard port 27383")
    assert check(document, "determinism")["verdict"] == "inconclusive"
    assert len(document["tree"]["libraries"]) >= 5


def test_the_ported_branch_passes_and_its_text_is_identical(desk: Path) -> None:
    ported = forkguard("port", "27383", cwd=desk)
    assert ported.status == 0, ported.err
    document = gate(desk, "forkguard/27383", status=0)
    assert (document["verdict"], document["tree"]["patchsets"]) == ("pass", ["27383"])
    assert check(document, "determinism")["class"] == "identical"
    assert check(document, "fallback")["class"] is None
    drafting = [arm for arm in document["arms"] if arm["draft"]]
    assert all(0.2 < arm["accepted"] / arm["drafted"] < 0.9 or arm["width"] > 3 for arm in drafting)
    assert all(arm["accepted"] > 0 for arm in drafting)
    texts = [request["answer"] for arm in document["arms"][:1] for request in arm["requests"]]
    assert len(texts) >= 8
    assert all(len(set(answer["tokens"][:128])) >= 40 for answer in texts if len(answer["tokens"]) >= 128)


def test_the_line_and_the_registry_case_alone_corrupt_the_text(desk: Path) -> None:
    document = gate(desk, "line-and-registry", status=1)
    found = check(document, "determinism")
    assert (found["verdict"], found["class"]) == ("fail", "corruption")
    assert check(document, "crash")["verdict"] == "pass"
    assert check(document, "liveness")["verdict"] == "pass"
    assert any(one["gap_nats"] is None or one["gap_nats"] > 0.05 for one in found["evidence"])
    assert any(one["finding"].startswith("lfm2/rollback-without-snapshots/") for one in found["suspects"])


def test_the_line_alone_passes_on_checkpoints(desk: Path) -> None:
    document = gate(desk, "layer-input-only", status=0)
    fallback = check(document, "fallback")
    assert (fallback["verdict"], fallback["class"]) == ("pass", "checkpoints")
    assert "checkpoints" in fallback["evidence"][0]["text"]
    assert check(document, "determinism")["class"] == "identical"


SLOTS = {"no-draft-slots-2", "draft-3-slots-2", "draft-7-slots-2"}


@pytest.mark.parametrize(
    ("branch", "verdict", "crashes", "texts", "culprit"),
    [
        ("production", "fail", "abort", None, "upstream too"),
        ("layer-input-only", "pass", None, "identical", None),
        ("line-and-registry", "fail", None, "corruption", None),
        ("forkguard/27383", "pass", None, "identical", None),
    ],
)
def test_the_four_branches_beside_upstream_at_the_pin_with_one_and_two_slots(
    desk: Path, *, branch: str, verdict: str, crashes: str | None, texts: str | None, culprit: str | None
) -> None:
    """Upstream at the pin lacks the request too: it aborts with the draft, and answers without it.

    That is told, and it makes nothing red: the branch with the port passes.
    """
    if branch.startswith("forkguard/"):
        assert forkguard("port", "27383", cwd=desk).status == 0
    document = gate(desk, branch, "--upstream", status=0 if verdict == "pass" else 1)
    assert (document["verdict"], document["settings"]["policy"]) == (verdict, "differential")
    arms = {arm["name"]: arm for arm in document["arms"]}
    assert {name for name, arm in arms.items() if arm["slots"] == 2 and not arm["recheck"]} == SLOTS | {
        f"upstream-{name}" for name in SLOTS
    }
    assert all(arms[name]["complete"] for name in arms if "no-draft" in name)
    crash, determinism = check(document, "crash"), check(document, "determinism")
    assert (crash["class"], determinism["class"]) == (crashes, texts)
    assert (crash if crashes else determinism)["culprit"] == culprit
    theirs = [one for one in crash["evidence"] if one["arm"].startswith("upstream-")]
    assert {(one["class"], one["stage"]) for one in theirs} == {("abort", "first decode")}
    assert document["upstream"]["commit"] != document["tree"]["commit"]
    if texts == "corruption":
        assert determinism["trigger"].startswith("only with the draft")
        assert "as a batch of that size, gives the reference" in determinism["detail"] + str(determinism["evidence"])


STOPPER = """#!{python}
import signal, subprocess, sys
server = subprocess.Popen([{program!r}, *sys.argv[1:]], stderr=subprocess.PIPE)
signal.signal(signal.SIGTERM, lambda *_: server.terminate())
for line in server.stderr:
    sys.stderr.buffer.write(line)
    sys.stderr.flush()
    if b"processing task" in line and "-md" in sys.argv:
        server.send_signal(signal.SIGSTOP)
sys.exit(server.wait())
"""


def test_a_server_that_stops_in_its_first_answer_hangs_and_leaves_nobody_behind(desk: Path) -> None:
    """The real server, stopped by a signal as it begins its first task with the draft; it had said it was healthy."""
    built = forkguard("build", "--fork-ref", "layer-input-only", "--format", "json", cwd=desk)
    (program,) = [path for path in json.loads(built.out)["binaries"] if path.endswith("llama-server")]
    stopper = desk / "stopper" / "llama-server"
    stopper.parent.mkdir()
    stopper.write_text(STOPPER.format(python=sys.executable, program=program))
    stopper.chmod(0o755)
    with (desk / "upstream-map.toml").open("a") as map_:
        map_.write("[gate]\nwidths = [3]\nslots = [1]\ntimeout = 15\n")
    document = gate(desk, "layer-input-only", "--binary", str(stopper), status=1)
    crash = check(document, "crash")
    assert (crash["class"], crash["trigger"]) == ("hang", "only with the draft")
    assert crash["evidence"][0]["stage"] == "first decode"
    assert "processing task" in crash["evidence"][0]["after"][0]
    assert {one["name"] for one in document["not_run"]} >= {"draft-3-verbose"}


@pytest.mark.full
def test_upstreams_own_tests_pass_on_the_port_and_do_not_see_the_half_of_it(desk: Path) -> None:
    """Their rollback test passes where the registry case came without the snapshots, which the gate's texts show."""
    assert forkguard("port", "27383", cwd=desk).status == 0
    for branch, verdict in (("forkguard/27383", "pass"), ("line-and-registry", "fail")):
        document = gate(desk, branch, "--upstream-tests", status=0 if verdict == "pass" else 1)
        assert check(document, "determinism")["verdict"] == verdict
        assert check(document, "upstream-tests")["verdict"] == "pass"
        assert {run["name"]: run["outcome"] for run in document["upstream_tests"]["runs"]} == {
            "test-generate-models": "passed",
            "test-llama-archs": "passed",
            "test-recurrent-state-rollback": "passed",
            "test-recurrent-state-rollback-nemotron-h": "passed",
            "test-recurrent-state-rollback-lfm2-dense": "passed",
        }


@pytest.mark.full
def test_the_port_passes_with_libcs_asserts(desk: Path) -> None:
    assert forkguard("port", "27383", cwd=desk).status == 0
    document = gate(desk, "forkguard/27383", "--asserts", status=0)
    own = document["asserts"]["tree"]
    assert document["asserts"]["compiled_in"] is False
    arms = {arm["name"] for arm in document["arms"] if arm["command"][0] == own["binary"]}
    assert arms == {"asserts-no-draft-slots-2", "asserts-draft-3-slots-2", "asserts-draft-7-slots-2"}
    assert own["binary_sha256"] != document["tree"]["binary_sha256"]
    for program, asserts in ((own["binary"], True), (document["tree"]["binary"], False)):
        library = Path(program).with_name("libllama.so")
        symbols = subprocess.run(
            ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
        )
        assert ("__assert_fail" in symbols.stdout) is asserts


def test_tensors_that_a_build_does_not_know_are_named_from_the_header(desk: Path) -> None:
    models: dict[str, Model] = {}

    def keep(path: Path, model: Model) -> str:
        models[model.arch] = model
        return write_model(path, model)

    target = write_probe("lfm2", desk, write=keep).target
    draft = models["dflash"]
    strange = replace(draft.tensors[0], name="blk.0.never_heard_of.weight")
    write_model(desk / "newer.gguf", replace(draft, tensors=(*draft.tensors, strange)))
    with (desk / "upstream-map.toml").open("a") as map_:
        map_.write(
            f'[arch.lfm2.gate]\ntarget = "{Path(target.path).name}"\ndraft = "newer.gguf"\n'
            "widths = [3]\nslots = [1]\n"
        )
    crash = check(gate(desk, "layer-input-only", status=1), "crash")
    assert (crash["class"], crash["trigger"]) == ("load-error", "only with the draft")
    assert {(one["load"]["problem"], *one["load"]["unclaimed"]) for one in crash["evidence"]} == {
        ("tensor-count", "blk.0.never_heard_of.weight")
    }
