"""The text of `forkguard drift`, whole: what a person reads, what a pipe gets, what no terminal may get."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.drifting import Desk, desk_for, exchanged
from tests.support.mini_llama import LAYER_INPUT, SNAPSHOT_WRITES
from tests.support.repos import MiniHistory

HERON, OTTER = "src/models/heron.cpp", "src/models/otter.cpp"
HOSTILE = "\x1b]0;owned\x07 \x1b[2J \u009b31m \u202e \x7f \x08"
"""Window title, cleared screen, a one-byte control sequence, text turned round, delete, backspace."""

REPORT = """\
heron, heronmoe: drift: 1 crash, 3 slow, 1 change
fork production {fork}, upstream upstream/master {upstream}, base {base} (by ancestry)

crash      not-ported  missing: the layer loop publishes its input
  src/models/heron.cpp:16  llama_model_heron::graph::graph
       14
       15       for (int il = 0; il < n_layer; ++il) {{
          +         res->t_layer_inp[il] = cur;
       16           ggml_tensor * prev = cur;
       17           cur = build_norm(cur, model.layers[il].attn_norm, NULL, LLM_NORM_RMS, il);
  upstream #201, 2026-01-01: heron : support drafts (#201)
  Drafts that read the target's hidden states (DFlash, DSpark, EAGLE-3) take them from t_layer_inp[]. An entry
  that no layer filled aborts the server at the first decode, after /health has said ok.
  mend: forkguard port 201

slow       not-ported  missing: the arch is registered for recurrent-state rollback
  src/llama-arch.cpp:26  llm_arch_supports_rs_rollback
       24       switch (arch) {{
       25           case LLM_ARCH_OTTER:
          +         case LLM_ARCH_HERON:
       26               return true;
       27           default:
  upstream #201, 2026-01-01: heron : support drafts (#201)
  An arch that is not listed gets n_rs_seq clamped to 0: each rejected draft token restores a checkpoint and
  decodes again, and on some forks the text then differs from greedy.
  mend: forkguard port 201

slow       not-ported  missing: recurrent state is written once per rollback slot
  src/models/heron.cpp:20  llama_model_heron::graph::graph
       18           if (hparams.is_recr(il)) {{
       19               ggml_tensor * tail = tail_of(cur, il);
{writes}
       20               ggml_build_forward_expand(gf, ggml_cpy(ctx0, tail, state_slot(il, 0)));
       21           }}
  upstream #201, 2026-01-01: heron : support drafts (#201)
  A rejected draft token is undone by going back to an earlier recurrent state, which is there only if the graph
  wrote one per slot. Without it the server falls back to checkpoints (a verbose log alone says so) or, where
  the arch is registered for rollback all the same, to wrong state.
  mend: forkguard port 201

slow       not-ported  missing: the arch is registered for recurrent-state rollback
  src/llama-arch.cpp:26  llm_arch_supports_rs_rollback
       24       switch (arch) {{
       25           case LLM_ARCH_OTTER:
          +         case LLM_ARCH_HERONMOE:
       26               return true;
       27           default:
  upstream #201, 2026-01-01: heron : support drafts (#201)
  mend: forkguard port 201

Other statements that differ
  1 place    #201, 2026-01-01: heron : support drafts (#201)
             src/models/heron.cpp:20
             mend: forkguard port 201

Not counted
  crash      registered for rollback, but without the larger node budget
             src/llama-context.cpp:4  llama_context::graph_max_nodes
             case LLM_ARCH_HERON:
             upstream has this hazard too: ported faithfully, it comes along
             #201, 2026-01-01: heron : support drafts (#201)
             mend: add the arch to the chain in llama_context::graph_max_nodes(), as upstream's open #29085 proposes
  crash      registered for rollback, but without the larger node budget
             src/llama-context.cpp:4  llama_context::graph_max_nodes
             case LLM_ARCH_HERONMOE:
             upstream has this hazard too: ported faithfully, it comes along
             #201, 2026-01-01: heron : support drafts (#201)
             mend: add the arch to the chain in llama_context::graph_max_nodes(), as upstream's open #29085 proposes

note: rule rope-type is disarmed: upstream has no llama_model_rope_type
note: rule speculative-state is disarmed: upstream has no need_n_rs_seq
Next
  forkguard port 201    mends 5 of 5
"""


@pytest.fixture
def desk(history: MiniHistory, tmp_path: Path) -> Desk:
    return desk_for(history, tmp_path / "desk")


def test_the_whole_text_for_a_drifted_fork(desk: Desk) -> None:
    outcome = desk.run("--arch", "heron")
    history = desk.history
    writes = "\n".join(f"          + {line}" for line in SNAPSHOT_WRITES.splitlines())
    assert outcome.out == REPORT.format(
        fork=history.own[1][:10], upstream=history.tip[:10], base=history.base[:10], writes=writes
    )
    assert (outcome.status, outcome.err) == (1, "")


def test_without_a_name_the_archs_of_the_map_are_meant(desk: Desk) -> None:
    assert desk.run().told() == (
        "no arch is named", str(desk.folder / "upstream-map.toml"),
        "forkguard drift --arch NAME, or --all, or add [arch.NAME] to the map",
    )  # fmt: skip
    desk.accept('\n[arch.heron]\nenum = "LLM_ARCH_HERON"\nfiles = ["src/models/heron.cpp"]\n')
    assert desk.run().out == desk.run("--arch", "heron").out
    desk.accept('\n[defaults]\narchs = ["otter"]\n')
    assert desk.run().out == desk.run("--arch", "otter").out


def test_a_clean_fork_is_told_in_the_first_line(desk: Desk) -> None:
    outcome = desk.run("--arch", "otter")
    assert outcome.status == 0
    assert outcome.out.splitlines()[0] == "otter: clean"
    assert "change" not in outcome.out.splitlines()[0]


def test_the_lists_of_speculative_types_alone_have_a_name(desk: Desk) -> None:
    outcome = desk.run("--arch", "speculative")
    assert (outcome.status, outcome.out.splitlines()[0]) == (0, "lists of speculative types: clean")


def test_an_absent_arch_is_told_with_names_close_to_it(desk: Desk) -> None:
    outcome = desk.run("--arch", "herron")
    assert outcome.status == 1
    assert outcome.out.splitlines()[0] == "herron: absent"
    assert (
        "absent  herron  the fork has no such arch; upstream has no such arch either; the fork has heron"
        in outcome.out
    )


def test_no_line_of_code_is_cut_or_wrapped(desk: Desk) -> None:
    long = f"res->t_layer_inp[il] = {' + '.join(f'part_of(cur, {number})' for number in range(40))};"
    own = f"        // ours: {'a long remark, ' * 20}\n"
    desk.upstream_edit("heron : all of it (#230)", HERON, (LAYER_INPUT.strip(), long))
    desk.fork_edit("ours: a remark", HERON, ("        ggml_tensor * prev", own + "        ggml_tensor * prev"))
    lines = desk.run("--arch", "heron").out.splitlines()
    assert f"          +         {long}" in lines
    assert [line for line in lines if line.endswith(own.strip())]


def test_a_pipe_gets_no_colour_unless_it_asks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in desk.run("--arch", "heron").out
    colored = desk.run("--arch", "heron", "--color").out
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored).split() == desk.run("--arch", "heron").out.split()
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in desk.run("--arch", "heron", "--no-color").out


def test_a_file_gets_the_same_text_whole(desk: Desk) -> None:
    piped = desk.run("--arch", "heron").out
    outcome = desk.run("--arch", "heron", "--output", "report.txt")
    assert (outcome.status, outcome.out) == (1, "")
    assert (desk.folder / "report.txt").read_text() == piped


def hostile(desk: Desk) -> None:
    """Terminal controls in a source line on each side, in a string, in subjects of both sides and in a file name."""
    text = desk.history.upstream.text(HERON)
    line = "        ggml_tensor * prev"
    desk.upstream_commit(
        f"heron : {HOSTILE} <b>&amp;]]> | `x` (#231)",
        {HERON: exchanged(text, (line, f'        log("{HOSTILE}");\n{line}'))},
    )
    mine = exchanged(desk.history.fork.text(HERON), (line, f"        // {HOSTILE}\n{line}"))
    desk.history.fork.commit("ours: a remark", {HERON: mine})
    desk.fork_edit(f"ours: {HOSTILE}", OTTER, (LAYER_INPUT, ""))


def test_controls_in_sources_and_subjects_reach_no_terminal(desk: Desk) -> None:
    hostile(desk)
    for words in (["--verbose"], ["--color"], []):
        outcome = desk.run("--arch", "heron", "--arch", "otter", *words)
        assert outcome.status == 1
        text = re.sub(r"\x1b\[[0-9;]*m", "", outcome.out) if "--color" in words else outcome.out
        assert "owned" in text, "the line is shown"
        assert [letter for letter in text if letter != "\n" and not letter.isprintable()] == []


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "markdown"])
def test_controls_reach_no_other_form_either(desk: Desk, form: str) -> None:
    hostile(desk)
    outcome = desk.run("--arch", "heron", "--arch", "otter", "--format", form)
    assert outcome.status == 1
    assert [letter for letter in outcome.out if letter not in "\n\t" and not letter.isprintable()] == []
    if form in {"json", "sarif"}:
        json.loads(outcome.out)
    if form == "json":
        texts = [finding["text"] for finding in json.loads(outcome.out)["findings"]]
        assert f'log("{HOSTILE}");' in texts, "the source is verbatim, in escapes"
    if form == "junit":
        ElementTree.fromstring(outcome.out)  # noqa: S314  (our own output)
