"""`forkguard gate --self-test` and `--bisect`, whole: trees, builds, servers, the screens and the JSON."""

import json
from pathlib import Path

import pytest

from tests.support.assembled import DEAF, assembled_files
from tests.support.commands import Outcome, forkguard
from tests.support.mini_llama import graph_source
from tests.support.programs import BUILDING
from tests.support.repos import new_repository
from tests.support.stacks import Queue, held, new_queue

OTTER = "src/models/otter.cpp"
PROMPT = '[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n'
ARCH = """
[arch.otter]
enum = "LLM_ARCH_OTTER"
probe = "lfm2"

[arch.otter.gate]
widths = [2]
slots = [1]
prompts = "prompts.toml"
"""


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """A queue whose upstream is a project that builds: its server behaves as the sources tell it to."""
    queue = new_queue(tmp_path)
    queue.base = queue.upstream_commit("A machine that runs (#103)", assembled_files())
    queue.fork.git("checkout", "-q", "-B", "production", queue.base)
    queue.author.git("pull", "-q", "--ff-only")
    (queue.desk.path / "prompts.toml").write_text(PROMPT)
    with (queue.desk.path / "upstream-map.toml").open("a") as map_:
        map_.write(ARCH)
    return queue


def gate(queue: Queue, *words: str) -> Outcome:
    return forkguard("gate", "--arch", "otter", *words, cwd=queue.desk.path)


@pytest.mark.needs(*BUILDING)
def test_a_gate_that_is_blind_for_one_fault_fails_its_test(queue: Queue) -> None:
    """The server shows no trace of a slot that is not written, so that the gate cannot see it."""
    queue.fork.commit("blind, and without a rollback", {DEAF: "slots", "src/llama-memory-recurrent.cpp": "int no;\n"})
    before = queue.fork.snapshot()
    names = ("layer-input-deleted", "slot-not-written", "rollback-off-by-one")
    outcome = gate(queue, "--self-test", *(word for name in names for word in ("--mutation", name)))
    assert outcome.status == 1, outcome.err
    rows = {line.split()[0]: line for line in outcome.out.splitlines() if line.strip()}
    assert rows["layer-input-deleted"].split()[1:-1] == [
        "crash:",
        "abort",
        "or",
        "signal",
        "crash:",
        "abort",
        "caught",
    ]
    assert " missed " in rows["slot-not-written"]
    assert " not-run " in rows["rollback-off-by-one"]
    told = "1 of 2 mutations caught, 1 not run; only those that were named: the gate lets through what it must not"
    assert f"self-test FAILED: {told}" in outcome.out
    assert "2/3 slot-not-written: missed, pass (identical)\n" in outcome.err
    assert queue.fork.snapshot() == before
    state = queue.desk.path / ".forkguard"
    assert len(list((state / "self-test").glob("*/receipt.json"))) == 3
    assert not (state / "receipts").exists()
    (tree,) = (queue.desk.path.parent / "cache" / "trees").glob("*-cpu-*/build")
    assert tree.parent.name.startswith(queue.fork.git("rev-parse", "HEAD")[:12])


@pytest.mark.needs(*BUILDING)
def test_the_second_of_three_patchsets_is_the_one(queue: Queue) -> None:
    queue.patch("notes", {"docs/other.txt": "a note\n"})
    wrong = assembled_files()[OTTER].replace("++slot) {", "++slot) { if (slot == 1) { continue; }")
    queue.patch("quicker-slots", {OTTER: wrong})
    queue.patch("more-notes", {"docs/more.txt": "more\n"})
    outcome = gate(queue, "--bisect", "--format", "json")
    assert outcome.status == 1, outcome.err
    document = held(json.loads(outcome.out))
    assert (document["result"], document["patchset"], document["monotone"]) == ("found", "quicker-slots", True)
    assert document["base"]["commit"] == queue.base
    assert [(run["at"], run["gate"]["said"]) for run in document["runs"]] == [
        (3, "determinism: corruption"),
        (0, "pass (identical)"),
        (1, "pass (identical)"),
        (2, "determinism: corruption"),
    ]
    receipts = [json.loads(Path(run["gate"]["receipt"]).read_text()) for run in document["runs"]]
    assert [receipt["tree"]["patchsets"] for receipt in receipts] == [
        ["notes", "quicker-slots", "more-notes"], [], ["notes"], ["notes", "quicker-slots"],
    ]  # fmt: skip
    assert [receipt["tree"]["commit"] for receipt in receipts] == [run["commit"] for run in document["runs"]]


@pytest.mark.needs(*BUILDING)
def test_upstream_in_another_clone_is_patch_zero_too(queue: Queue) -> None:
    """The fork's history is squashed: the base is found by content, and the fork does not have it."""
    red = graph_source("otter", layer_input=False, state="            write_all(cur);\n")
    queue.upstream_commit("broken upstream (#104)", {OTTER: red})
    fork = new_repository(queue.desk.path.parent / "squashed")
    fork.commit("Our fork, all of it", assembled_files() | {OTTER: red})
    fork.git("branch", "-q", "-M", "production")
    path = queue.desk.path / "upstream-map.toml"
    text = (
        path.read_text().replace('remote = "upstream"', 'path = "../upstream"').replace("upstream/master", "master")
    )
    path.write_text(text.replace('path = "../fork"', 'path = "../squashed"'))
    queue.author.git("pull", "-q", "--ff-only")
    queue.base = queue.author.git("rev-parse", "HEAD")
    queue.patch("notes", {"docs/other.txt": "a note\n"})
    outcome = gate(queue, "--bisect")
    assert outcome.status == 1, outcome.err
    assert "the base is red by itself: it is upstream's, and no patchset brought it" in outcome.out
    assert fork.git("for-each-ref", "--format=%(refname)").splitlines() == [
        "refs/forkguard/bisect-base", "refs/heads/production",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--self-test", "--bisect"), "give one of the two"),
        (("--mutation", "null-pointer"), "forkguard gate --self-test --mutation NAME"),
        (("--self-test", "--binary", "x"), "give beside them --arch,"),
        (("--bisect", "--upstream"), "give beside them --arch,"),
        (("--self-test", "--mutation", "rust"), "the mutations are: draft-never-accepted,"),
        (("--bisect",), "forkguard stack list"),
    ],
)
def test_wrong_use_says_what_to_type(queue: Queue, words: tuple[str, ...], hint: str) -> None:
    outcome = gate(queue, *words)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.told()[2].startswith(hint)
