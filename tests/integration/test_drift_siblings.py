"""Fork-only lines beside siblings that upstream changed, squashed syncs, forks of older layouts: on real git."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.drifting import Desk, Document, desk_for, exchanged, only
from tests.support.mini_llama import LAYER_INPUT
from tests.support.repos import MiniHistory

HERON, OTTER = "src/models/heron.cpp", "src/models/otter.cpp"
LOADER = """
void llama_model_otter::load_arch_tensors(llama_model_loader & ml) {
    layer.wq = create_tensor(tn(LLM_TENSOR_ATTN_Q, "weight", i), {n_embd, n_head}, 0);
    layer.wk = create_tensor(tn(LLM_TENSOR_ATTN_K, "weight", i), {n_embd, n_head}, 0);
    layer.wv = create_tensor(tn(LLM_TENSOR_ATTN_V, "weight", i), {n_embd, n_head}, 0);
}
"""
OWN = '    layer.wz = create_tensor(tn(LLM_TENSOR_ATTN_Z, "weight", i), {n_embd, n_head}, 0);\n'


@pytest.fixture
def desk(history: MiniHistory, tmp_path: Path) -> Desk:
    return desk_for(history, tmp_path / "desk")


def loaders(desk: Desk) -> None:
    """Both sides have the loader; the fork has one line of its own in it."""
    upstream = desk.history.upstream.text(OTTER) + LOADER
    desk.upstream_commit("otter : load tensors (#301)", {OTTER: upstream})
    ours = desk.history.fork.text(OTTER) + LOADER.replace("}\n", OWN + "}\n").replace("{n_embd, n_head}", SHAPE)
    desk.history.fork.commit("ours: load tensors and one more", {OTTER: ours})


SHAPE = "{n_embd, n_head}"
NEW = "{n_embd, n_head_kv}"


def later(desk: Desk) -> None:
    """What is committed upstream from now on is younger than anything that the fork has."""
    desk.history.upstream.clock = desk.history.fork.clock + timedelta(days=1)


def wider(text: str, *, own: bool) -> str:
    """The text after upstream's change of shape, with or without the fork's own line."""
    head, at, tail = text.partition(OWN)
    return head.replace(SHAPE, NEW) + (at.replace(SHAPE, NEW) if own else at) + tail


def left_behind(desk: Desk) -> list[Document]:
    found = desk.drift("otter")["findings"]
    return [one for one in found if "fork-only line" in one["title"]]


def test_a_fork_only_line_beside_siblings_that_upstream_changed_is_a_crash(desk: Desk) -> None:
    loaders(desk)
    later(desk)
    edited = wider(desk.history.upstream.text(OTTER), own=False)
    commit = desk.upstream_commit("otter : fewer heads (#302)", {OTTER: edited})
    assert left_behind(desk) == []  # the fork has not taken the change: its lines agree with each other
    desk.history.fork.commit("ours: take 302", {OTTER: wider(desk.history.fork.text(OTTER), own=False)})
    (one,) = left_behind(desk)
    assert (one["kind"], one["severity"], one["text"]) == ("changed", "crash", OWN.strip())
    assert one["upstream"]["commit"] == commit
    assert one["title"].startswith("fork-only line beside siblings that upstream changed: 3 siblings")
    desk.history.fork.commit("ours: ours too", {OTTER: wider(desk.history.fork.text(OTTER), own=True)})
    assert left_behind(desk) == []


def test_a_single_changed_neighbour_says_nothing_of_the_fork_only_line(desk: Desk) -> None:
    loaders(desk)
    behind = ", 0);\n    layer.wk"
    one_line = (SHAPE + behind, NEW + behind)
    later(desk)
    desk.upstream_commit("otter : one (#303)", {OTTER: exchanged(desk.history.upstream.text(OTTER), one_line)})
    desk.history.fork.commit("ours: take 303", {OTTER: exchanged(desk.history.fork.text(OTTER), one_line)})
    assert left_behind(desk) == []


# -- the base ---------------------------------------------------------------------------------------------


def squash_synced(desk: Desk, *, part: int) -> str:
    """The fork takes every `part`-th file that upstream changed since the base, as a commit of its own."""
    upstream, fork = desk.history.upstream, desk.history.fork
    changed = upstream.git("diff", "--name-only", desk.history.base, "HEAD").splitlines()
    synced = upstream.git("rev-parse", "HEAD")
    fork.commit("ours: sync with upstream", {name: upstream.text(name) + "\n" for name in changed[::part]})
    desk.upstream_commit("something else (#313)", {"docs/else.md": "else\n"})
    return synced


def test_a_merge_base_that_a_squashed_sync_left_behind_is_said_and_not_used(desk: Desk) -> None:
    synced = squash_synced(desk, part=1)
    document = desk.drift("otter")
    assert (document["base"]["how"], document["base"]["commit"]) == ("content", synced)
    assert any(f"the merge base {desk.history.base[:12]} is stale" in warning for warning in document["warnings"])


def test_a_fork_that_took_a_part_of_what_came_keeps_its_merge_base(desk: Desk) -> None:
    squash_synced(desk, part=2)
    document = desk.drift("otter")
    assert (document["base"]["how"], document["base"]["commit"]) == ("merge-base", desk.history.base)
    assert not any("stale" in warning for warning in document["warnings"])


def test_a_fork_that_ported_the_first_commit_after_its_base_keeps_its_merge_base(desk: Desk) -> None:
    upstream, fork = desk.history.upstream, desk.history.fork
    first = upstream.git("rev-list", "--reverse", f"{desk.history.base}..HEAD").split()[0]
    changed = upstream.git("diff", "--name-only", desk.history.base, first).splitlines()
    fork.commit("ours: port one", {name: upstream.text(name, ref=first) for name in changed})
    document = desk.drift("otter")
    assert (document["base"]["how"], document["base"]["commit"]) == ("merge-base", desk.history.base)


# -- what a fork's own shape excuses ------------------------------------------------------------------------


def test_a_line_that_nothing_in_the_fork_reads_is_no_crash(desk: Desk) -> None:
    desk.fork_edit("ours: before the feature", OTTER, (LAYER_INPUT, ""))
    document = desk.drift("heron")
    line = only(document, rule="layer-input")
    assert (line["kind"], line["severity"]) == ("not-ported", "change")
    assert "part of a feature that the fork lacks as a whole" in line["why"]


def test_a_line_that_a_merge_of_upstream_took_away_is_not_lost_by_the_fork(desk: Desk) -> None:
    upstream, fork = desk.history.upstream, desk.history.fork
    odd = ("    ggml_tensor * cur", "    step_aside();\n    ggml_tensor * cur")
    first = upstream.text(HERON)
    desk.upstream_edit("heron : aside (#321)", HERON, odd)
    fork.git("merge", "-q", "-m", "ours: merge upstream", "upstream/master")
    desk.upstream_commit("heron : not aside (#322)", {HERON: first})
    fork.git("merge", "-q", "-m", "ours: merge upstream again", "upstream/master")
    commit = desk.upstream_edit("heron : aside again (#323)", HERON, odd)
    found = [
        one for one in desk.drift("heron")["findings"] if one["upstream"] and one["upstream"]["commit"] == commit
    ]
    assert {one["kind"] for one in found} == {"not-ported"}
