"""Known faults in real builds, and the patchset of a real stack that brings one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.archs import SourceTree
from forkguard.core.mutations import MUTATIONS, Subject, mutated
from forkguard.core.names import TreePath
from tests.support.commands import forkguard
from tests.support.repos import GitFolder
from tests.support.stacks import held

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600), pytest.mark.usefixtures("build_turn")]

MAP = """\
[fork]
path = "{fork}"
ref = "{ref}"

[upstream]
remote = "upstream"
ref = "upstream/master"

[arch.lfm2]
enum = "LLM_ARCH_LFM2"
files = ["src/models/lfm2.cpp"]
"""
QUICK = ("--width", "3", "--slots", "1")
FOUR = ("layer-input-deleted", "single-state-write", "rollback-off-by-one", "name-unregistered")
GRAPH = "src/models/lfm2.cpp"
CONTEXT = "src/llama-context.cpp"


def desk_of(folder: Path, fork: Path, ref: str) -> Path:
    desk = folder / "desk"
    desk.mkdir()
    (desk / "upstream-map.toml").write_text(MAP.format(fork=fork, ref=ref))
    return desk


def run(desk: Path, *words: str, status: int) -> dict[str, Any]:
    outcome = forkguard("gate", "--arch", "lfm2", *words, "--format", "json", cwd=desk)
    assert outcome.status == status, outcome.err + outcome.out
    return held(json.loads(outcome.out))


def outcomes(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        one["name"]: (one["outcome"], one["gate"]["said"] if one["gate"] else one["reason"])
        for one in document["mutations"]
    }


def test_the_gate_catches_four_known_faults_of_a_real_fork(real_fork: Path, tmp_path: Path) -> None:
    desk = desk_of(tmp_path, real_fork, "forkguard/27383")
    assert forkguard("port", "27383", "--fork-ref", "production", cwd=desk).status == 0
    before = GitFolder(real_fork).snapshot()
    chosen = [word for name in FOUR for word in ("--mutation", name)]
    document = run(desk, "--self-test", *QUICK, *chosen, status=0)
    assert (document["verdict"], document["ran"]) == ("pass", 4)
    assert outcomes(document) == {
        "layer-input-deleted": ("caught", "crash: abort"),
        "single-state-write": ("caught", "determinism: corruption"),
        "rollback-off-by-one": ("caught", "determinism: corruption"),
        "name-unregistered": ("caught", "crash: load-error"),
    }
    assert GitFolder(real_fork).snapshot() == before
    assert not (desk / ".forkguard" / "receipts").exists()


@pytest.mark.full
def test_every_known_fault_is_caught(real_fork: Path, tmp_path: Path) -> None:
    """On the port with the larger node budget, which request 29085 adds, so that every fault has its place."""
    desk = desk_of(tmp_path, real_fork, "all-of-it")
    assert forkguard("port", "27383", "--fork-ref", "production", cwd=desk).status == 0
    fork = GitFolder(real_fork)
    fork.git("checkout", "-q", "-b", "all-of-it", "forkguard/27383")
    budget, count = re.subn(
        r"(model\.arch == LLM_ARCH_QWEN35) \|\|", r"\1 || model.arch == LLM_ARCH_LFM2 ||", fork.text(CONTEXT)
    )
    assert count == 1
    fork.commit("context : give LFM2 the larger node budget", {CONTEXT: budget})
    document = run(desk, "--self-test", status=0)
    found = outcomes(document)
    assert found.pop("draft-never-accepted") == ("not-green", "liveness: none-accepted")
    assert {outcome for outcome, _ in found.values()} == {"caught"}
    assert len(found) == document["red"] == len(MUTATIONS) - 1
    assert found["null-pointer"] == ("caught", "crash: signal")
    assert found["second-request-hangs"] == ("caught", "crash: hang")
    assert found["node-budget-dropped"] == ("caught", "crash: abort")


def with_fault(fork: GitFolder, name: str, path: str) -> str:
    """A file of the fork's work tree with a mutation in it."""
    sources = {
        TreePath(str(each.relative_to(fork.path))): each.read_bytes() for each in (fork.path / "src").rglob("*.cpp")
    }
    headers = {
        TreePath(str(each.relative_to(fork.path))): each.read_bytes() for each in (fork.path / "src").rglob("*.h")
    }
    tree = SourceTree(sources | headers)
    subject = Subject(tree, tree.archs.archs["lfm2"], {rule.id: rule for rule in bundled_rules()})
    (mutation,) = [each for each in MUTATIONS if each.name == name]
    return mutated(tree.files, mutation.find(subject))[TreePath(path)].decode()


def test_the_second_patchset_of_a_real_stack_corrupts_the_text(real_fork: Path, tmp_path: Path) -> None:
    """A stack on upstream with request 27383: the second writes one state only, though the registry promises more."""
    fork = GitFolder(real_fork)
    fork.git("checkout", "-q", "--no-track", "-b", "stacked", "upstream/master^{/27383}")
    fork.commit("ours : a note", {"FORK.md": "ours\n"})
    fork.commit("ours : fewer writes", {GRAPH: with_fault(fork, "single-state-write", GRAPH)})
    fork.commit("ours : another note", {"FORK.md": "ours\nstill ours\n"})
    desk = desk_of(tmp_path, real_fork, "stacked")
    assert forkguard("stack", "import", "--from-branch", "stacked", cwd=desk).status == 0
    document = run(desk, "--bisect", *QUICK, status=1)
    assert document["result"] == "found", document
    names = [each["patchset"] for each in document["stack"]]
    assert (document["patchset"], document["monotone"], document["notes"]) == (names[1], True, [])
    assert {run["at"]: run["gate"]["verdict"] for run in document["runs"]} == {
        0: "pass", 1: "pass", 2: "fail", 3: "fail",
    }  # fmt: skip
    assert document["runs"][0]["gate"]["said"] == "determinism: corruption"
