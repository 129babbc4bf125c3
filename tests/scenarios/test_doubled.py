"""What the fork has already, a few lines away: a port, a replay and a night do not bring it a second time unasked."""

from pathlib import Path

import pytest

from tests.support.mini_llama import LAYER_INPUT, SINGLE_WRITE, arch_source, graph_source
from tests.support.nights import Nights
from tests.support.porting import ARCH, HERON, Desk, edit, make_desk, outcomes
from tests.support.repos import MiniHistory
from tests.support.stacks import Queue, held, new_queue

NORM = "        cur = build_norm(cur, model.layers[il].attn_norm, NULL, LLM_NORM_RMS, il);\n"
TAIL = '        cb(cur, "l_out", il);\n'
PREV = "        ggml_tensor * prev = cur;\n"
HELPER = "static int width_of(int il) {\n    return il + 1;\n}\n\n"


def heron(*, before: str = PREV, text: str = "") -> str:
    """heron's graph with some lines in front of another one."""
    source = graph_source("heron", layer_input=False, state=SINGLE_WRITE)
    assert source.count(before) == 1
    return source.replace(before, text + before)


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    queue = new_queue(tmp_path)
    queue.patch("input", {HERON: heron(before=PREV, text=LAYER_INPUT)})
    return queue


def test_a_port_hands_the_line_to_a_person_who_keeps_one(desk: Desk, history: MiniHistory) -> None:
    own = edit(history, HERON, TAIL, LAYER_INPUT + TAIL)

    document = held(desk.json("port", "201", status=1))

    assert document["status"] == "conflict"
    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "conflict")]
    (conflict,) = document["conflicts"]
    assert (conflict["ours"], conflict["base"], conflict["theirs"]) == ("", "", LAYER_INPUT)
    assert [commit["commit"] for commit in conflict["fork_log"]] == [own]
    place = Path(document["worktree"]) / HERON
    lines = place.read_text().splitlines(keepends=True)
    assert lines[conflict["line"] - 1] == "<<<<<<< fork\n"
    assert lines[conflict["twice"]["line"] - 1] == LAYER_INPUT
    text = history.fork.text(HERON).splitlines()
    assert text[conflict["twice"]["fork_line"] - 1] == LAYER_INPUT.rstrip()
    assert conflict["twice"]["text"] == LAYER_INPUT.strip()
    said = conflict["reason"]
    assert said.startswith("this statement would be there twice: upstream brings it here, the fork has it at line ")
    assert document["hunks"][1]["detail"] == said
    assert "conflict markers are left" in desk.run("port", "--continue").err

    kept = [line for line in lines if not line.startswith(("<<<<<<<", "|||||||", "=======", ">>>>>>>"))]
    place.write_text("".join(kept).replace(LAYER_INPUT + TAIL, TAIL))
    done = held(desk.json("port", "--continue", status=0))

    assert done["status"] == "applied"
    assert history.fork.text(HERON, ref="forkguard/201") == history.upstream.text(HERON)


def test_the_screen_names_both_lines_and_what_to_type(desk: Desk, history: MiniHistory) -> None:
    edit(history, HERON, TAIL, LAYER_INPUT + TAIL)

    shown = " ".join(desk.run("port", "201").out.split())

    assert "#201 conflicts with production" in shown
    assert "the fork has it at line" in shown
    assert "fork | res->t_layer_inp[il] = cur;" in shown
    assert "upstream | res->t_layer_inp[il] = cur;" in shown
    assert "fork by" in shown
    assert "forkguard port --continue" in shown


def test_a_replay_says_which_commit_brought_the_other_one(queue: Queue) -> None:
    queue.upstream_commit("heron : a note (#110)", {HERON: "// heron\n" + heron()})
    broke = queue.upstream_commit(
        "heron : layer input (#111)", {HERON: "// heron\n" + heron(before=TAIL, text=LAYER_INPUT)}
    )

    document = held(queue.desk.json("stack", "replay", status=1))

    assert queue.statuses(document) == [("input", "conflict")]
    (patch,) = document["stack"]
    assert patch["breaking_commit"] == broke
    (trouble,) = patch["troubles"]
    assert trouble["path"] == HERON
    assert "the patch brings it here, upstream has it at line" in trouble["reason"]

    opened = held(queue.desk.json("stack", "replay", "--resolve", "input", status=1))
    place = Path(opened["open"]["worktree"]) / HERON
    marked = place.read_text()
    assert f"<<<<<<< fork\n{LAYER_INPUT}||||||| base\n=======\n>>>>>>> upstream: twice, upstream has it at" in marked
    place.write_text("// heron\n" + heron(before=PREV, text=LAYER_INPUT))
    done = held(queue.desk.json("stack", "replay", "--continue", status=0))

    assert queue.statuses(done) == [("input", "applies")]
    assert queue.fork.text(HERON, ref=done["tip"]).count("t_layer_inp") == 1
    assert held(queue.desk.json("stack", "replay", status=0))["tip"] == done["tip"]


def test_what_git_merges_line_by_line_is_looked_at(queue: Queue) -> None:
    theirs = heron(before=TAIL, text=LAYER_INPUT).replace("LLM_NORM_RMS, il)", "LLM_NORM_RMS, il + 0)")
    queue.upstream_commit("heron : layer input (#111)", {HERON: theirs})

    document = held(queue.desk.json("stack", "replay", "--no-bisect", status=1))

    (patch,) = document["stack"]
    assert (patch["status"], len(patch["troubles"])) == ("conflict", 1)
    assert "would be there twice" in patch["troubles"][0]["reason"]


def test_what_is_joined_is_looked_at(queue: Queue) -> None:
    other = HELPER.replace("il + 1", "il + 2")
    queue.patch("more", {ARCH: HELPER + arch_source(rollback=("otter", "heron"))})
    theirs = arch_source(rollback=("otter", "heronmoe")) + "\n" + other
    queue.upstream_commit("arch : more (#111)", {ARCH: theirs})

    document = held(queue.desk.json("stack", "replay", "--no-bisect", status=1))

    assert queue.statuses(document) == [("input", "applies"), ("more", "conflict")]
    assert "this function would be there twice" in document["stack"][1]["troubles"][0]["reason"]


def test_what_upstream_has_word_for_word_landed(queue: Queue) -> None:
    queue.patch("helper", {"src/models/sketch.cpp": HELPER + graph_source("sketch", layer_input=False)})
    text = graph_source("sketch", layer_input=False)
    queue.upstream_commit("sketch : widths (#110)", {"src/models/sketch.cpp": text + "\n" + HELPER})

    document = held(queue.desk.json("stack", "replay", status=0))

    assert queue.statuses(document) == [("input", "applies"), ("helper", "landed")]


def test_a_night_tells_it_in_the_packet(nights: Nights) -> None:
    nights.queue.patch("input", {HERON: heron(before=PREV, text=LAYER_INPUT)})
    nights.fork.commit("ours: input\n\nForkguard-Patchset: input", {HERON: heron(before=PREV, text=LAYER_INPUT)})
    nights.upstream.commit("heron : layer input (#111)", {HERON: heron(before=TAIL, text=LAYER_INPUT)})

    night = nights.night(status=1)

    (packet,) = night["packets"]
    text = (nights.folder / night["id"] / packet["file"]).read_text()
    assert "would be there twice: the patch brings it here, upstream has it at line" in text
    assert "The patch makes of it:\n\n```\n" + LAYER_INPUT in text
    assert "Upstream has:\n\n```\n" + LAYER_INPUT.strip() in text
    assert "Both began with" not in text
