"""Drift over real git on the miniature history: every kind of finding, who brought it, who lost it, what counts."""

from pathlib import Path

import pytest

from tests.support import mini_llama
from tests.support.drifting import Desk, desk_for, exchanged, only, quads
from tests.support.mini_llama import LAYER_INPUT
from tests.support.repos import MiniHistory

HERON, OTTER, ARCH = "src/models/heron.cpp", "src/models/otter.cpp", "src/llama-arch.cpp"
CONTEXT, HEADER, COMMON = "src/llama-context.cpp", "src/models/models.h", "common/common.h"
OWN_EDIT = ("statement", "otter", "changed", "note")
"""What the fork's own commit in otter.cpp shows as, in every report on otter."""
BUDGET = [("rollback-without-node-budget", arch, "hazard", "crash") for arch in ("heron", "heronmoe")]
FROM_201 = [
    ("layer-input", "heron", "not-ported", "crash"),
    ("rollback-registry", "heron", "not-ported", "slow"),
    ("rollback-registry", "heronmoe", "not-ported", "slow"),
    *BUDGET,
    ("snapshot-writes", "heron", "not-ported", "slow"),
    ("statement", "heron", "changed", "change"),
]


@pytest.fixture
def desk(history: MiniHistory, tmp_path: Path) -> Desk:
    return desk_for(history, tmp_path / "desk")


# -- what came upstream ----------------------------------------------------------------------------------


def test_what_a_pull_request_brought_is_not_ported_and_named(desk: Desk) -> None:
    document = desk.drift("heron", status=1)
    assert quads(document) == FROM_201
    assert {f["upstream"]["pr"] for f in document["findings"]} == {201}
    assert {f["upstream"]["commit"] for f in document["findings"]} == {desk.history.port}
    line = only(document, rule="layer-input")
    assert (line["path"], line["line"], line["symbol"]) == (HERON, 16, "llama_model_heron::graph::graph")
    assert line["text"] == LAYER_INPUT.strip()
    assert line["upstream"]["subject"] == "heron : support drafts (#201)"
    assert line["upstream"]["line"] == 16
    assert line["fix"] == "forkguard port 201"
    writes = only(document, rule="snapshot-writes")
    assert writes["text"].splitlines() == [line[12:] for line in mini_llama.SNAPSHOT_WRITES.splitlines()]
    dropped = only(document, kind="changed")
    assert dropped["text"] == mini_llama.SINGLE_WRITE.strip()
    assert dropped["title"] == "upstream dropped a statement in llama_model_heron::graph::graph()"
    assert document["base"] == {"commit": desk.history.base, "how": "merge-base"}
    assert [(a["name"], a["status"]) for a in document["archs"]] == [("heron", "drift"), ("heronmoe", "drift")]


def test_the_place_is_the_line_before_which_the_piece_belongs(desk: Desk) -> None:
    lines = desk.history.fork.text(HERON).split("\n")
    place = only(desk.drift("heron"), rule="layer-input")["line"]
    assert lines[place - 2].strip() == "for (int il = 0; il < n_layer; ++il) {"
    assert lines[place - 1].strip() == "ggml_tensor * prev = cur;"


def test_hazards_that_upstream_has_too_do_not_count_unless_strict(desk: Desk) -> None:
    desk.history.fork.commit("port all of 201", mini_llama.draft_support())
    document = desk.drift("heron", status=0)
    assert quads(document) == BUDGET
    assert all(f["also_upstream"] for f in document["findings"])
    assert [a["status"] for a in document["archs"]] == ["clean", "clean"]
    strict = desk.drift("heron", status=1, more=("--strict",))
    assert strict["summary"]["counted"] == 2


def test_upstream_compared_with_itself_is_clean(desk: Desk) -> None:
    document = desk.drift("heron", "otter", "sketch", status=0, more=("--fork-ref", "upstream/master"))
    assert quads(document) == BUDGET


def test_a_change_that_two_pull_requests_carried_is_named_by_the_merged_one(desk: Desk) -> None:
    desk.upstream_edit("heron : norm (#207) (#208)", HERON, ("LLM_NORM_RMS, il", "LLM_NORM, il"))
    changed = only(desk.drift("heron"), text="cur = build_norm(cur, model.layers[il].attn_norm, NULL, LLM_NORM, il);")
    assert (changed["kind"], changed["severity"], changed["upstream"]["pr"]) == ("not-ported", "change", 208)
    assert changed["fix"] == "forkguard port 208"


def test_a_commit_without_a_number_is_named_by_its_id(desk: Desk) -> None:
    commit = desk.upstream_edit("heron: quick fix", HERON, ("build_ffn_of(cur, il)", "build_ffn_of(cur, 0)"))
    changed = only(desk.drift("heron"), text="cur = ggml_add(ctx0, build_ffn_of(cur, 0), prev);")
    assert (changed["upstream"]["commit"], changed["upstream"]["pr"]) == (commit, None)
    assert changed["fix"] == f"git show {commit[:12]}"


def test_a_statement_that_upstream_doubled_is_not_ported_although_the_base_has_one(desk: Desk) -> None:
    twice = '        cb(cur, "l_out", il);\n'
    desk.upstream_edit("heron : twice (#209)", HERON, (twice, twice + twice))
    doubled = only(desk.drift("heron"), text='cb(cur, "l_out", il);')
    assert (doubled["kind"], doubled["upstream"]["pr"]) == ("not-ported", 209)


def test_two_statements_with_one_text_are_two_findings_with_two_ids(desk: Desk) -> None:
    twice = "        note_of(il);\n"
    for number, before in ((211, "        ggml_tensor * prev = cur;\n"), (212, "        cur = build_norm(")):
        desk.upstream_edit(f"heron : note (#{number})", HERON, (before, twice + before))
    found = [f for f in desk.drift("heron")["findings"] if f["text"] == "note_of(il);"]
    assert sorted(f["upstream"]["pr"] for f in found) == [211, 212]
    assert [f["id"].removeprefix(found[0]["id"]) for f in found] == ["", "-2"]


# -- what the fork lost or changed -------------------------------------------------------------------------


def test_a_line_of_the_base_that_the_fork_removed_is_lost_and_the_commit_named(desk: Desk) -> None:
    commit = desk.fork_edit("ours: tidy otter", OTTER, (LAYER_INPUT, ""))
    document = desk.drift("otter", status=1)
    assert quads(document) == [("layer-input", "otter", "lost", "crash"), OWN_EDIT]
    lost = only(document, rule="layer-input")
    assert lost["lost_in"]["commit"] == commit
    assert lost["lost_in"]["subject"] == "ours: tidy otter"
    assert (lost["upstream"]["pr"], lost["upstream"]["line"]) == (101, 16)
    assert lost["fix"] == f"git show {commit[:12]}", "an old pull request is nothing to port"


def test_a_line_that_the_fork_had_ported_and_lost_again_is_lost(desk: Desk) -> None:
    desk.history.fork.commit("port all of 201", mini_llama.draft_support())
    commit = desk.fork_edit("ours: rewrite heron", HERON, (LAYER_INPUT, ""))
    document = desk.drift("heron", status=1)
    assert quads(document) == [("layer-input", "heron", "lost", "crash"), *BUDGET]
    lost = only(document, rule="layer-input")
    assert (lost["lost_in"]["commit"], lost["upstream"]["pr"]) == (commit, 201)
    desk.fork_edit(
        "ours: and back", HERON, ("        ggml_tensor * prev", LAYER_INPUT + "        ggml_tensor * prev")
    )
    assert quads(desk.drift("heron", status=0)) == BUDGET


def test_a_case_taken_from_another_switch_does_not_make_a_missing_one_lost(desk: Desk) -> None:
    """The same `case` stands in many switches: only the removal from this one is a loss."""
    text = desk.history.fork.text(ARCH)
    commit = desk.history.fork.commit(
        "ours: not recurrent", {ARCH: text.replace("        case LLM_ARCH_HERON:\n", "", 1)}
    )
    document = desk.drift("heron", status=1)
    missing = [(f["symbol"], f["kind"], (f["lost_in"] or {}).get("commit")) for f in document["findings"]
               if f["text"] == "case LLM_ARCH_HERON:" and f["kind"] != "hazard"]  # fmt: skip
    assert sorted(missing, key=str) == [
        ("llm_arch_is_recurrent", "lost", commit),
        ("llm_arch_supports_rs_rollback", "not-ported", None),
    ]
    assert only(document, symbol="llm_arch_is_recurrent")["severity"] == "crash"


def test_a_line_under_a_condition_of_the_forks_is_changed(desk: Desk) -> None:
    guarded = f"        if (il > 0) {{\n    {LAYER_INPUT}        }}\n"
    desk.fork_edit("ours: not the first", OTTER, (LAYER_INPUT, guarded))
    document = desk.drift("otter", status=1)
    assert quads(document) == [("layer-input", "otter", "changed", "crash"), OWN_EDIT]
    changed = only(document, rule="layer-input")
    assert (changed["line"], changed["text"]) == (17, LAYER_INPUT.strip())
    assert changed["title"] == "only under a condition: the layer loop publishes its input"


def test_a_line_that_left_the_loop_is_changed(desk: Desk) -> None:
    desk.fork_edit(
        "ours: once is enough", OTTER, (LAYER_INPUT, ""), ("    res->t_embd", LAYER_INPUT[4:] + "    res->t_embd")
    )
    document = desk.drift("otter", status=1)
    assert quads(document) == [("layer-input", "otter", "changed", "crash"), OWN_EDIT]
    assert only(document, rule="layer-input")["title"] == "outside the loop: the layer loop publishes its input"


def test_a_line_in_another_branch_of_upstreams_own_condition_is_no_drift(desk: Desk) -> None:
    guarded = f"        if (il > 0) {{\n    {LAYER_INPUT}        }}\n"
    for edit in (desk.upstream_edit, desk.fork_edit):
        edit("not the first (#213)", OTTER, (LAYER_INPUT, guarded))
    assert quads(desk.drift("otter", status=0)) == [OWN_EDIT]


def test_a_statement_that_upstream_dropped_is_changed_and_its_remover_named(desk: Desk) -> None:
    gone = "        ggml_tensor * prev = cur;\n"
    commit = desk.upstream_edit("otter : no prev (#214)", OTTER, (gone, ""))
    document = desk.drift("otter", status=1)
    assert quads(document) == [("statement", "otter", "changed", "change"), OWN_EDIT]
    stale = only(document, severity="change")
    assert stale["text"] == gone.strip()
    assert (stale["upstream"]["commit"], stale["upstream"]["pr"], stale["upstream"]["line"]) == (commit, 214, None)
    desk.fork_edit("follow upstream", OTTER, (gone, ""))
    assert quads(desk.drift("otter", status=0)) == [OWN_EDIT]


def test_a_line_that_the_fork_edits_and_upstream_never_touched_is_a_note(desk: Desk) -> None:
    document = desk.drift("otter", status=0)
    assert quads(document) == [OWN_EDIT]
    note = only(document, severity="note")
    assert note["text"] == 'cb(cur, "l_out", il);'
    assert note["lost_in"]["commit"] == desk.history.own[1]
    assert quads(desk.drift("otter", status=1, more=("--strict",))) == [OWN_EDIT]


def test_white_space_comments_order_and_line_ends_make_no_difference(desk: Desk) -> None:
    text = exchanged(
        desk.history.fork.text(OTTER),
        ("    res->t_embd = cur;\n    res->t_logits = build_lora_mm(model.output, cur);\n",
         "    res->t_logits = build_lora_mm(\n        model.output, cur); // ours\n    res->t_embd=cur;\n"),
    )  # fmt: skip
    desk.history.fork.commit("ours: our own style", {OTTER: text.replace("\n", "\r\n")})
    assert quads(desk.drift("otter", status=0)) == [OWN_EDIT]


def test_local_names_of_the_forks_own_make_no_difference_and_the_finding_stays(desk: Desk) -> None:
    text = desk.history.fork.text(HERON).replace("cur", "inpL").replace("tail_of(", "tail_of(")
    desk.history.fork.commit("ours: rename cur", {HERON: text})
    assert quads(desk.drift("heron", status=1)) == FROM_201


def test_a_moved_file_is_found_where_it_is(desk: Desk) -> None:
    moved = "src/models/birds/heron.cpp"
    desk.history.fork.commit("ours: birds", {moved: desk.history.fork.text(HERON)}, removed=(HERON,))
    document = desk.drift("heron", status=1)
    assert quads(document) == FROM_201
    assert only(document, rule="layer-input")["path"] == moved
    assert document["archs"][0]["files"] == [moved]


def test_a_syntax_error_hides_nothing_and_is_said(desk: Desk) -> None:
    text = desk.history.fork.text(HERON)
    broken = text.replace("void llama_model_heron", "FORK_NOTE(int, = ;\n@@ merge later\n\nvoid llama_model_heron", 1)
    desk.history.fork.commit("ours: half a merge", {HERON: broken})
    document = desk.drift("heron", status=1)
    assert set(FROM_201) <= set(quads(document))
    assert [w for w in document["warnings"] if HERON in w]


def test_in_a_broken_file_one_of_two_equal_statements_is_still_missed(desk: Desk) -> None:
    logits = "    ggml_build_forward_expand(gf, res->t_logits);\n"
    for edit in (desk.upstream_edit, desk.fork_edit):
        edit("otter : twice (#215)", OTTER, (logits, logits + logits))
    text = desk.history.fork.text(OTTER).replace(logits + logits, logits)
    broken = text.replace("void llama_model_otter", "FORK_NOTE(int, = ;\n@@ merge later\n\nvoid llama_model_otter", 1)
    desk.history.fork.commit("ours: half a merge", {OTTER: broken})
    assert only(desk.drift("otter", status=1), text=logits.strip())["kind"] == "lost"


# -- registries ----------------------------------------------------------------------------------------


def test_a_case_that_the_fork_moved_to_another_outcome_is_changed(desk: Desk) -> None:
    text = exchanged(
        desk.history.fork.text(ARCH).replace("\r", ""),
        ("OTTER:\n            return true;\n", "OTTER:\n            return false;\n"),
    )  # fmt: skip
    desk.history.fork.commit("ours: otter cannot", {ARCH: text})
    document = desk.drift("otter", status=1)
    moved = only(document, rule="rollback-registry")
    assert (moved["kind"], moved["symbol"], moved["text"]) == (
        "changed", "llm_arch_supports_rs_rollback", "case LLM_ARCH_OTTER:",
    )  # fmt: skip
    assert only(document, kind="hazard")["rule"] == "snapshots-without-rollback", (
        "an arch that may not is not registered"
    )


def test_a_link_of_a_comparison_chain_is_named_alone(desk: Desk) -> None:
    otter, heron = "model.arch == LLM_ARCH_OTTER", "model.arch == LLM_ARCH_HERON"
    commit = desk.upstream_edit("budget for heron (#216)", CONTEXT, (otter, f"{otter} ||\n        {heron}"))
    document = desk.drift("heron", status=1)
    link = only(document, rule="node-budget-registry")
    assert (link["arch"], link["kind"], link["severity"], link["text"]) == ("heron", "not-ported", "crash", heron)
    assert (link["upstream"]["commit"], link["upstream"]["pr"]) == (commit, 216)
    assert [f["arch"] for f in document["findings"] if f["kind"] == "hazard"] == ["heronmoe"]
    assert not [f for f in desk.drift("otter", status=0)["findings"] if f["path"] == CONTEXT]


def test_an_entry_of_a_table_that_the_fork_dropped(desk: Desk) -> None:
    desk.upstream_commit("file types (#217)", {"src/llama-quant.cpp": (
        "static const std::map<llm_arch, int> QUANT_LEVELS = {\n"
        "    { LLM_ARCH_OTTER, 4 },\n    { LLM_ARCH_HERON, 5 },\n    { LLM_ARCH_SKETCH, 6 },\n};\n"
    )})  # fmt: skip
    entry = only(desk.drift("heron"), symbol="QUANT_LEVELS")
    assert (entry["text"], entry["kind"], entry["severity"]) == ("{ LLM_ARCH_HERON, 5 }", "not-ported", "change")
    assert entry["upstream"]["pr"] == 217


def test_an_entry_with_another_value_shows_upstreams(desk: Desk) -> None:
    table = "static const std::map<llm_arch, int> QUANT_LEVELS = {{\n    {{ LLM_ARCH_HERON, {} }},\n    {{ LLM_ARCH_OTTER, 4 }},\n    {{ LLM_ARCH_SKETCH, 6 }},\n}};\n"  # noqa: E501
    desk.upstream_commit("levels (#218)", {"src/llama-quant.cpp": table.format(5)})
    desk.history.fork.commit("ours: levels", {"src/llama-quant.cpp": table.format(7)})
    assert only(desk.drift("heron"), symbol="QUANT_LEVELS")["text"] == "{ LLM_ARCH_HERON, 5 }"


def test_other_archs_entries_are_left_alone(desk: Desk) -> None:
    desk.fork_edit("ours: sketch is gone from the table", ARCH, ('    { LLM_ARCH_SKETCH,     "sketch" },\n', ""))
    assert quads(desk.drift("otter", status=0)) == [OWN_EDIT]
    document = desk.drift("sketch", status=1)
    assert document["archs"] == [
        {"name": "sketch", "status": "absent", "files": ["src/models/sketch.cpp"], "remark": "upstream has it"}
    ]


COMMON_HEADER = """#pragma once

enum common_speculative_type {
    COMMON_SPECULATIVE_TYPE_NONE,
    COMMON_SPECULATIVE_TYPE_DRAFT_DFLASH,
    COMMON_SPECULATIVE_TYPE_DRAFT_MTP,
};

struct common_params_speculative {
    common_speculative_type type = COMMON_SPECULATIVE_TYPE_NONE;

    bool need_n_rs_seq() const {
        return type == COMMON_SPECULATIVE_TYPE_DRAFT_DFLASH || type == COMMON_SPECULATIVE_TYPE_DRAFT_MTP;
    }
};
"""


def test_a_speculative_type_dropped_from_a_list_is_slow_for_every_arch(desk: Desk) -> None:
    commit = desk.upstream_commit("common : draft types (#221)", {COMMON: COMMON_HEADER})
    dropped = " || type == COMMON_SPECULATIVE_TYPE_DRAFT_MTP"
    desk.history.fork.commit("ours: draft types", {COMMON: exchanged(COMMON_HEADER, (dropped, ""))})
    document = desk.drift("otter", status=1)
    link = only(document, arch="speculative")
    assert (link["rule"], link["kind"], link["severity"], link["path"]) == (
        "speculative-state", "not-ported", "slow", COMMON,
    )  # fmt: skip
    assert (link["symbol"], link["text"]) == (
        "common_params_speculative::need_n_rs_seq", "type == COMMON_SPECULATIVE_TYPE_DRAFT_MTP",
    )  # fmt: skip
    assert (link["upstream"]["commit"], link["upstream"]["pr"]) == (commit, 221)
    assert document["archs"][-1] == {
        "name": "speculative", "status": "drift", "files": [], "remark": "lists of speculative types, not an arch",
    }  # fmt: skip
    desk.history.fork.commit("ours: all of them", {COMMON: COMMON_HEADER})
    assert quads(desk.drift("otter", status=0)) == [OWN_EDIT]


# -- hazards, archs, ledger ------------------------------------------------------------------------------


def test_registered_without_snapshots_is_a_corruption_hazard_of_the_fork(desk: Desk) -> None:
    desk.history.fork.commit("ours: register heron", {ARCH: mini_llama.arch_source(rollback=("otter", "heron"))})
    document = desk.drift("heron", status=1)
    hazard = only(document, rule="rollback-without-snapshots")
    assert (hazard["arch"], hazard["kind"], hazard["severity"]) == ("heron", "hazard", "corruption")
    assert not hazard["also_upstream"]
    assert (hazard["path"], hazard["text"]) == (ARCH, "case LLM_ARCH_HERON:")
    assert hazard["upstream"]["pr"] == 201, "the change that brings what the hazard lacks"
    assert only(document, rule="snapshot-writes")["kind"] == "not-ported", (
        "the missing lines have findings of their own"
    )
    assert document["summary"]["by_severity"]["corruption"] == 1


def test_snapshots_without_registration_are_slow(desk: Desk) -> None:
    source = mini_llama.draft_support()[HERON]
    desk.history.fork.commit("ours: half of 201", {HERON: source})
    found = [(f["rule"], f["arch"], f["severity"]) for f in desk.drift("heron", status=1)["findings"]]
    assert ("snapshots-without-rollback", "heron", "slow") in found
    assert ("snapshots-without-rollback", "heronmoe", "slow") in found


def test_an_arch_that_the_fork_lacks_is_absent_and_exits_1(desk: Desk) -> None:
    document = desk.drift("kingfisher", status=1)
    assert document["archs"] == [
        {"name": "kingfisher", "status": "absent", "files": [], "remark": "upstream has no such arch either"}
    ]
    assert document["findings"] == []
    assert "the fork has heron" in desk.drift("herron", status=1)["archs"][0]["remark"]


def test_an_absent_arch_hides_no_other(desk: Desk) -> None:
    desk.fork_edit("ours: no heronmoe", ARCH, ('    { LLM_ARCH_HERONMOE,   "heronmoe" },\n', ""))
    for asked in (("heronmoe", "heron"), ("heron", "heronmoe")):
        document = desk.drift(*asked, status=1)
        assert {a["name"]: a["status"] for a in document["archs"]} == {"heron": "drift", "heronmoe": "absent"}
        assert only(document, rule="layer-input")["arch"] == "heron"


def test_an_arch_of_the_forks_own_is_said_to_be_so(desk: Desk) -> None:
    desk.fork_edit("ours: rename heron", ARCH, ('"heron"', '"greatheron"'))
    document = desk.drift("greatheron", status=1)
    assert document["archs"][0]["remark"] == "upstream has no arch of this name"


def test_archs_that_share_a_graph_come_together_and_share_ids(desk: Desk) -> None:
    by_owner, by_user = desk.drift("heron"), desk.drift("heronmoe")
    assert {a["name"]: a["remark"] for a in by_user["archs"]} == {"heron": "", "heronmoe": "its graph is heron's"}
    assert {f["id"] for f in by_owner["findings"]} == {f["id"] for f in by_user["findings"]}
    assert len(desk.drift("heron", "heronmoe")["findings"]) == len(by_owner["findings"])


def test_an_arch_that_inherits_its_graph_belongs_to_the_family(desk: Desk) -> None:
    head = "struct llama_model_heronmoe : public llama_model_"
    header = desk.history.fork.text(HEADER)
    inherited = exchanged(
        header, (head + "base", head + "heron"), ("    using graph = llama_model_heron::graph;\n", "")
    )
    desk.history.fork.commit("ours: inherit", {HEADER: inherited})
    assert {a["name"]: a["remark"] for a in desk.drift("heron")["archs"]} == {
        "heron": "", "heronmoe": "its graph is heron's",
    }  # fmt: skip


def test_what_the_map_accepts_is_told_and_does_not_count(desk: Desk) -> None:
    findings = desk.drift("heron", status=1)["findings"]
    ids = [f["id"] for f in findings if not f["also_upstream"]]
    desk.accept("".join(f'\n[[accept]]\nid = "{name}"\nreason = "no drafts here"\nby = "Ada"\n' for name in ids[1:]))
    document = desk.drift("heron", status=1)
    assert document["summary"]["counted"] == 1
    assert document["summary"]["by_kind"]["accepted"] == len(ids) - 1
    assert {f["ledger"] for f in document["findings"] if f["kind"] == "accepted"} == {"no drafts here"}
    desk.accept(f'\n[[accept]]\nid = "{ids[0]}"\nreason = "nor here"\nby = "Ada"\nuntil = 2999-01-01\n')
    assert desk.drift("heron", status=0)["archs"][0]["status"] == "clean"
    assert desk.drift("heron", status=1, more=("--strict",))["summary"]["counted"] == len(findings)


def test_an_expired_entry_of_the_ledger_counts_again(desk: Desk) -> None:
    name = only(desk.drift("heron"), rule="layer-input")["id"]
    desk.accept(f'\n[[accept]]\nid = "{name}"\nreason = "later"\nby = "Ada"\nuntil = 2020-01-01\n')
    assert only(desk.drift("heron"), rule="layer-input")["kind"] == "not-ported"


def test_ids_do_not_move_with_lines(desk: Desk) -> None:
    before = desk.drift("heron")
    for path in (HERON, ARCH, CONTEXT):
        desk.history.fork.commit("ours: notes", {path: "// ours\n\n\n" + desk.history.fork.text(path)})
        desk.upstream_commit("notes (#219)", {path: "// theirs\n" * 9 + desk.history.upstream.text(path)})
    after = desk.drift("heron")
    assert [f["id"] for f in after["findings"]] == [f["id"] for f in before["findings"]]
    assert [f["line"] for f in after["findings"]] == [f["line"] + 3 for f in before["findings"]]
    assert {f["upstream"]["pr"] for f in after["findings"]} == {201}


# -- base ------------------------------------------------------------------------------------------------


def squash(desk: Desk) -> None:
    fork = desk.history.fork
    commit = fork.git("commit-tree", "production^{tree}", "-m", "our fork, all of it")
    fork.git("update-ref", "refs/heads/squashed", commit)


def test_a_squashed_fork_finds_its_base_by_content(desk: Desk) -> None:
    squash(desk)
    document = desk.drift("heron", status=1, more=("--fork-ref", "squashed"))
    total = len(desk.history.fork.git("ls-tree", "-r", "--name-only", "production").splitlines())
    assert document["base"] == {
        "commit": desk.history.base, "how": "content", "equal": total - 2, "total": total,
    }  # fmt: skip
    assert quads(document) == FROM_201


def test_among_equals_the_base_with_most_lines_in_common_wins(desk: Desk) -> None:
    """Base and next commit have as many files in common with the fork: the next edits one that the fork edits."""
    history = desk.history
    upstream = history.upstream
    upstream.git("reset", "-q", "--hard", history.base)
    other = desk.upstream_edit("otter : other (#220)", OTTER, ("build_norm(cur", "build_norm(prev"))
    history.fork.git("fetch", "-q", "--force", "upstream", "+master:refs/remotes/upstream/master")
    squash(desk)
    assert desk.drift("otter", more=("--fork-ref", "squashed"))["base"]["commit"] == history.base
    desk.fork_edit("port 220", OTTER, ("build_norm(cur", "build_norm(prev"))
    squash(desk)
    assert desk.drift("otter", more=("--fork-ref", "squashed"))["base"]["commit"] == other


def test_a_fork_of_something_else_has_no_base(desk: Desk, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("checkout", "-q", "--orphan", "stranger")
    fork.git("rm", "-rfq", "--ignore-unmatch", ".")
    fork.commit("another", {f"docs/{i}.md": str(i) for i in range(40)} | {ARCH: "int nothing;\n"})
    outcome = desk.run("--arch", "heron", "--fork-ref", "stranger")
    assert outcome.status == 3
    assert outcome.told()[0].startswith("no upstream commit resembles the fork")
    assert "[upstream] base" in outcome.told()[2]


def test_a_base_that_the_map_names_is_taken(desk: Desk) -> None:
    path = desk.folder / "upstream-map.toml"
    path.write_text(path.read_text() + f'base = "{desk.history.after}"\n')
    document = desk.drift("heron", status=1)
    assert document["base"] == {"commit": desk.history.after, "how": "configured"}
    assert only(document, rule="layer-input")["kind"] == "lost", "a base that has the line makes its absence a loss"


# -- the fork is left alone --------------------------------------------------------------------------------


def test_drift_changes_nothing_in_the_fork(desk: Desk) -> None:
    before = desk.history.fork.snapshot(), desk.history.upstream.snapshot()
    for words in (("--arch", "heron"), ("--arch", "otter", "--format", "json"), ("--arch", "kingfisher")):
        desk.run(*words)
    assert (desk.history.fork.snapshot(), desk.history.upstream.snapshot()) == before


def test_names_that_are_no_text_reach_the_report(desk: Desk) -> None:
    moved = desk.history.fork.path / "src/models"
    name = b"h\xe9ron.cpp"
    (moved / "heron.cpp").rename(moved / name.decode("utf-8", "surrogateescape"))
    desk.history.fork.commit("ours: an old encoding")
    assert quads(desk.drift("heron", status=1)) == FROM_201
    outcome = desk.run("--arch", "heron")
    assert outcome.status == 1
    assert "src/models/h\N{REPLACEMENT CHARACTER}ron.cpp:16" in outcome.out
