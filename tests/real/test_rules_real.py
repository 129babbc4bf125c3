"""Every bundled rule on the sources of two real builds: it sees its line taken out, and is silent where nothing is.

The broken trees are made by editing text in memory; the other tree of each comparison is the build itself.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from forkguard.adapters.archive_members import members
from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.arch_reports import disarmed_rules
from forkguard.core.archs import SOURCE_FOLDERS, SourceTree, is_source
from forkguard.core.differences import Trees, family
from forkguard.core.drift import History, findings
from forkguard.core.findings import Finding, Kind, Severity
from forkguard.core.names import TreePath
from forkguard.workflows.drift import differences

pytestmark = pytest.mark.real

BUILDS = ("10531", "10549")
ARCH, CONTEXT, MODEL = "src/llama-arch.cpp", "src/llama-context.cpp", "src/llama-model.cpp"
GRAPH, STATES, COMMON = "src/models/qwen35.cpp", "src/models/delta-net-base.cpp", "common/common.h"
SUBJECT = "qwen35"
Edit = Callable[[str], str]


def without_line(pattern: str) -> Edit:
    """Take out every line that holds the pattern; at least one has to."""
    line = re.compile(rf"^.*(?:{pattern}).*\n", re.MULTILINE)
    return lambda text: _changed(line.sub("", text), text)


def replaced(pattern: str, new: str) -> Edit:
    """Put other words in the place of every match; at least one has to be."""
    return lambda text: _changed(re.sub(pattern, new, text), text)


def inside(symbol: str, edit: Edit) -> Edit:
    """Edit one function only, from its name to the closing brace at its line's start."""

    def edited(text: str) -> str:
        start = text.index(symbol)
        end = text.index("\n}", start)
        return text[:start] + edit(text[start:end]) + text[end:]

    return edited


def _changed(after: str, before: str) -> str:
    assert after != before, "the sources are not the expected ones"
    return after


@dataclass(frozen=True)
class Break:
    """What breaks one rule: an edit of one file; and the kind and severity that the finding must have."""

    path: str
    edit: Edit
    kind: Kind
    severity: Severity
    arch: str = SUBJECT


CASE = rf"case LLM_ARCH_{SUBJECT.upper()}:"
BREAKS: Mapping[str, Break] = {
    "layer-input": Break(GRAPH, without_line(r"t_layer_inp\["), Kind.LOST, Severity.CRASH),
    "snapshot-writes": Break(STATES, replaced(r"cparams\.n_rs_seq", "0u"), Kind.LOST, Severity.SLOW),
    "embeddings-output": Break(GRAPH, without_line(r"res->t_embd ="), Kind.LOST, Severity.CRASH),
    "logits-output": Break(GRAPH, without_line(r"res->t_logits ="), Kind.LOST, Severity.CRASH),
    "arch-name": Break(
        ARCH, replaced(r'(LLM_ARCH_QWEN35, +)"qwen35"', r'\1"qwen35-ours"'), Kind.CHANGED, Severity.CHANGE,
        arch="qwen35-ours",
    ),
    "model-factory": Break(
        MODEL, replaced(r"new llama_model_qwen35\(", "new llama_model_qwen35moe("), Kind.CHANGED, Severity.CHANGE
    ),
    "rollback-registry": Break(
        ARCH, inside("bool llm_arch_supports_rs_rollback", without_line(CASE)), Kind.LOST, Severity.SLOW
    ),
    "node-budget-registry": Break(
        CONTEXT, inside("llama_context::graph_max_nodes", without_line(r"LLM_ARCH_QWEN35 ")), Kind.LOST,
        Severity.CRASH,
    ),
    "rope-type": Break(
        MODEL, inside("llama_rope_type llama_model_rope_type", without_line(CASE)), Kind.LOST, Severity.CORRUPTION
    ),
    "hybrid-registry": Break(
        ARCH, inside("bool llm_arch_is_hybrid", without_line(CASE)), Kind.LOST, Severity.CRASH
    ),
    "speculative-state": Break(
        COMMON, replaced(r" \|\| t == COMMON_SPECULATIVE_TYPE_DRAFT_DSPARK;", ";"), Kind.LOST, Severity.SLOW,
        arch="speculative",
    ),
    "rollback-without-snapshots": Break(
        STATES, replaced(r"cparams\.n_rs_seq", "0u"), Kind.HAZARD, Severity.CORRUPTION
    ),
    "snapshots-without-rollback": Break(
        ARCH, inside("bool llm_arch_supports_rs_rollback", without_line(CASE)), Kind.HAZARD, Severity.SLOW
    ),
    "rollback-without-node-budget": Break(
        CONTEXT, inside("llama_context::graph_max_nodes", without_line(r"LLM_ARCH_QWEN35 ")), Kind.HAZARD,
        Severity.CRASH,
    ),
    "layer-input-among-siblings": Break(GRAPH, without_line(r"t_layer_inp\["), Kind.HAZARD, Severity.CRASH),
}  # fmt: skip


@lru_cache(maxsize=2)
def sources(archive: Path) -> Mapping[TreePath, bytes]:
    folders = tuple(f"{folder}/" for folder in SOURCE_FOLDERS)
    return {
        file.path: file.data for file in members(archive) if is_source(file.path) and file.path.startswith(folders)
    }


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest, real_archives: tuple[Path, Path]) -> Mapping[TreePath, bytes]:
    return sources(real_archives[BUILDS.index(request.param)])


def found(fork: Mapping[TreePath, bytes], build: Mapping[TreePath, bytes], *archs: str) -> list[Finding]:
    """What counts for some archs of a fork whose base and upstream are the build."""
    trees = Trees(fork=SourceTree(fork), upstream=SourceTree(build), base=SourceTree(build))
    families = [family(trees, arch) for arch in archs if arch in trees.fork.archs.archs]
    different = differences(trees, families, bundled_rules())
    return [finding for finding in findings(different, trees, History()) if not finding.also_upstream]


def test_every_bundled_rule_is_shown() -> None:
    assert set(BREAKS) == {rule.id for rule in bundled_rules()}
    assert len(BREAKS) >= 12


@pytest.mark.parametrize("rule", sorted(BREAKS))
def test_a_rule_sees_its_line_taken_out_and_nothing_else(rule: str, build: Mapping[TreePath, bytes]) -> None:
    broken = BREAKS[rule]
    path = TreePath(broken.path)
    fork = {**build, path: broken.edit(build[path].decode()).encode()}
    seen = [finding for finding in found(fork, build, broken.arch) if finding.rule == rule]
    assert {(one.arch, one.kind, one.severity) for one in seen} >= {(broken.arch, broken.kind, broken.severity)}
    assert all(one.path for one in seen)


def test_no_rule_speaks_where_nothing_differs(build: Mapping[TreePath, bytes]) -> None:
    archs = SourceTree(build).archs.archs
    assert len(archs) > 100
    assert found(build, build, *archs) == []


def test_every_rule_is_armed_in_both_builds(build: Mapping[TreePath, bytes]) -> None:
    assert disarmed_rules(bundled_rules(), SourceTree(build)) == {}


def test_a_rule_whose_subject_moved_is_disarmed_with_those_that_need_it(build: Mapping[TreePath, bytes]) -> None:
    moved = {path: data.replace(b"t_layer_inp", b"t_layer_input") for path, data in build.items()}
    disarmed = disarmed_rules(bundled_rules(), SourceTree(moved))
    assert disarmed == {
        "layer-input": "nothing in upstream matches its query",
        "layer-input-among-siblings": "it needs layer-input, which is disarmed",
    }
