"""Drift on real llama.cpp: the drifted fork and its variants, each with exactly the findings that it must have."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.commands import Outcome, forkguard
from tests.support.drifting import MAP, Document, checked, only
from tests.support.real_sources import ARCH, GRAPH, MOVED_GRAPH, SQUASHED, VARIANTS, RealSources
from tests.support.snapshot import fork_as_it_is

pytestmark = pytest.mark.real

PULL = 27383
Row = tuple[str, str, str, str, int | None, bool]
"""Rule, arch, kind, severity, pull request, whether upstream has the hazard too."""

LINE: Row = ("layer-input", "lfm2", "not-ported", "crash", PULL, False)
WRITES: Row = ("snapshot-writes", "lfm2", "not-ported", "slow", PULL, False)
FAMILY = ("lfm2", "lfm2moe")
CASES: list[Row] = [("rollback-registry", arch, "not-ported", "slow", PULL, False) for arch in FAMILY]
BUDGET: list[Row] = [("rollback-without-node-budget", arch, "hazard", "crash", PULL, True) for arch in FAMILY]
CORRUPT: list[Row] = [("rollback-without-snapshots", arch, "hazard", "corruption", PULL, False) for arch in FAMILY]
SIBLINGS: list[Row] = [("layer-input-among-siblings", arch, "hazard", "crash", PULL, False) for arch in FAMILY]
SPLIT: list[Row] = [("statement", arch, "not-ported", "change", None, False) for arch in FAMILY]
"""Another commit's work in llama_meta_device_get_split_state()."""
REST: list[Row] = [
    *SPLIT,
    ("statement", "lfm2", "not-ported", "change", PULL, False),  # an include
    ("statement", "lfm2", "changed", "change", PULL, False),  # the single write that upstream dropped
    *(("statement", arch, "changed", "change", PULL, False) for arch in FAMILY),  # no case any more: tensor split
]

EXPECTED: dict[str, list[Row]] = {
    "production": [LINE, WRITES, *CASES, *BUDGET, *REST],
    "layer-input-only": [WRITES, *CASES, *BUDGET, *REST],
    "line-and-registry": [WRITES, *CORRUPT, *BUDGET, *REST],
    "registry-only": [LINE, WRITES, *SIBLINGS, *CORRUPT, *BUDGET, *REST],
    "renamed": [LINE, WRITES, *CASES, *BUDGET, *REST],
    "line-in-a-branch": [
        ("layer-input", "lfm2", "changed", "crash", PULL, False), WRITES, *CASES, *BUDGET, *REST,
    ],
    "moved-file": [
        LINE, WRITES, *CASES, *BUDGET, *REST, ("statement", "lfm2", "changed", "note", None, False),
    ],
    "crlf": [LINE, WRITES, *CASES, *BUDGET, *REST],
    "syntax-error": [LINE, WRITES, *CASES, *BUDGET, *REST],
    SQUASHED: [LINE, WRITES, *CASES, *BUDGET, *REST],
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path, real_sources: RealSources) -> Path:
    """A folder with a map for the shared fork."""
    (tmp_path / "upstream-map.toml").write_text(MAP.format(fork=real_sources.fork))
    return tmp_path


def run(desk: Path, ref: str, *more: str) -> Outcome:
    return forkguard("drift", "--arch", "lfm2", "--fork-ref", ref, *more, cwd=desk)


def drift(desk: Path, ref: str) -> Document:
    return checked(run(desk, ref, "--format", "json"))


def rows(document: Document) -> Counter[Row]:
    return Counter(
        (f["rule"], f["arch"], f["kind"], f["severity"], (f["upstream"] or {}).get("pr"), f["also_upstream"])
        for f in document["findings"]
    )


def test_every_variant_has_an_expectation() -> None:
    assert set(EXPECTED) == {*VARIANTS, "production", SQUASHED}


@pytest.mark.parametrize("branch", sorted(EXPECTED))
def test_a_fork_has_exactly_the_findings_that_it_must_have(desk: Path, branch: str) -> None:
    outcome = run(desk, branch, "--format", "json")
    assert outcome.status == 1
    document = checked(outcome)
    assert rows(document) == Counter(EXPECTED[branch])
    assert [a["name"] for a in document["archs"]] == ["lfm2", "lfm2moe"]
    assert document["base"]["how"] == ("content" if branch == SQUASHED else "merge-base")


def test_the_pieces_of_the_pull_request_are_shown_in_their_places(desk: Path, real_sources: RealSources) -> None:
    document = drift(desk, "production")
    line = only(document, rule="layer-input")
    assert (line["path"], line["text"]) == (GRAPH, "res->t_layer_inp[il] = cur;")
    assert line["symbol"] == "llama_model_lfm2::graph::graph"
    assert line["upstream"]["subject"] == "spec : support DSpark for LFM2 models (#27383)"
    assert line["fix"] == "forkguard port 27383"
    source = (real_sources.fork / GRAPH).read_text().splitlines()
    assert source[line["line"] - 2].lstrip().startswith("for (int il = 0; il < n_layer"), "inside the loop, in front"
    cases = [f for f in document["findings"] if f["rule"] == "rollback-registry"]
    assert {(f["path"], f["symbol"], f["text"]) for f in cases} == {
        (ARCH, "llm_arch_supports_rs_rollback", f"case LLM_ARCH_{name}:") for name in ("LFM2", "LFM2MOE")
    }
    assert "n_rs_seq" in only(document, rule="snapshot-writes")["text"]
    hazards = [f for f in document["findings"] if f["kind"] == "hazard"]
    assert {(f["path"], f["symbol"]) for f in hazards} == {
        ("src/llama-context.cpp", "llama_context::graph_max_nodes")
    }
    assert all("#29085" in f["fix"] for f in hazards)
    assert document["warnings"] == []


def test_ids_are_the_same_in_every_shape_of_the_same_fork(desk: Path) -> None:
    ids = {branch: {f["id"] for f in drift(desk, branch)["findings"]} for branch in ("production", "crlf", SQUASHED)}
    assert ids["production"] == ids["crlf"] == ids[SQUASHED]


def test_a_moved_file_is_named_where_it_is(desk: Path) -> None:
    document = drift(desk, "moved-file")
    assert only(document, rule="layer-input")["path"] == MOVED_GRAPH
    assert only(document, severity="note")["text"].startswith("#include")


def test_a_line_in_a_branch_is_said_to_be_under_a_condition(desk: Path) -> None:
    changed = only(drift(desk, "line-in-a-branch"), rule="layer-input")
    assert changed["title"].startswith("only under a condition")


def test_a_squashed_base_is_found_by_content_with_figures(desk: Path) -> None:
    base = drift(desk, SQUASHED)["base"]
    assert base["commit"] == drift(desk, "production")["base"]["commit"]
    assert (base["how"], base["equal"], base["total"]) == ("content", 3443, 3445)


def test_a_syntax_error_is_said(desk: Path) -> None:
    assert [w for w in drift(desk, "syntax-error")["warnings"] if w.startswith(GRAPH)]


def test_upstreams_tip_is_clean_and_the_pull_request_itself_lacks_none_of_its_pieces(desk: Path) -> None:
    outcome = run(desk, "upstream/master", "--format", "json")
    assert outcome.status == 0
    assert rows(checked(outcome)) == Counter(BUDGET)
    assert rows(drift(desk, "upstream/master~1")) == Counter([*BUDGET, *SPLIT])


def test_the_text_names_the_worst_first_and_the_command(desk: Path) -> None:
    outcome = run(desk, "production")
    assert outcome.status == 1
    lines = outcome.out.splitlines()
    assert lines[0] == "lfm2, lfm2moe: drift: 1 crash, 3 slow, 6 change"
    assert lines[3].startswith("crash      not-ported  missing: the layer loop publishes its input")
    assert any(line.split() == ["+", "res->t_layer_inp[il]", "=", "cur;"] for line in lines)
    assert "forkguard port 27383" in lines[-1]


def test_an_arch_without_drift_and_one_that_is_not_there(desk: Path) -> None:
    outcome = forkguard("drift", "--arch", "mamba", "--format", "json", cwd=desk)
    assert checked(outcome)["archs"][0]["status"] == ("clean" if outcome.status == 0 else "drift")
    absent = forkguard("drift", "--arch", "lfm22", "--format", "json", cwd=desk)
    assert absent.status == 1
    assert checked(absent)["archs"][0]["status"] == "absent"
    assert "lfm2" in checked(absent)["archs"][0]["remark"]


def test_drift_leaves_the_fork_byte_for_byte_as_it_was(desk: Path, real_sources: RealSources) -> None:
    before = fork_as_it_is(real_sources.fork)
    times = {path: (real_sources.fork / path).lstat().st_mtime_ns for path in before}
    for ref in ("production", SQUASHED, "syntax-error"):
        run(desk, ref, "--format", "json")
    assert fork_as_it_is(real_sources.fork) == before
    after = {path: (real_sources.fork / path).lstat().st_mtime_ns for path in before}
    assert after == times
