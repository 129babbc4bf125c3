"""`forkguard port` on forks that moved files and functions, renamed things, and added to the same lists."""

import re
from pathlib import Path

import pytest

from tests.support import mini_llama
from tests.support.porting import ARCH, HERON, Desk, edit, make_desk, outcomes
from tests.support.repos import GitFolder, MiniHistory

NAMES = "src/llama-arch.h"


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


def request(history: MiniHistory, number: int, files: dict[str, str]) -> None:
    """A request merged upstream, fetched by the fork."""
    history.upstream.commit(f"a change (#{number})", files)
    history.fork.git("fetch", "-q", "upstream")


def ported(fork: GitFolder, name: str, number: int = 201) -> str:
    return fork.text(name, ref=f"forkguard/{number}") + "\n"


# -- the fork's own names --------------------------------------------------------------------------------


def test_a_local_name_that_the_fork_writes_otherwise_is_taken_over(desk: Desk, history: MiniHistory) -> None:
    text = (history.fork.path / HERON).read_text()
    history.fork.commit("ours: inpL", {HERON: re.sub(r"\bcur\b", "inpL", text)})

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "clean")]
    assert document["hunks"][1]["detail"] == "cur is called inpL here"
    assert ported(history.fork, HERON) == re.sub(r"\bcur\b", "inpL", mini_llama.draft_support()[HERON])
    assert document["prerequisites"] == []


def test_a_name_that_a_person_maps_is_exchanged(desk: Desk, history: MiniHistory) -> None:
    map_file = desk.path / "upstream-map.toml"
    map_file.write_text(map_file.read_text() + '\n[port]\nidentifiers = { is_recr = "is_recurrent_layer" }\n')
    text = history.upstream.text(HERON) + "\n"
    request(
        history,
        300,
        {HERON: text.replace("    res->t_embd = cur;\n", "    keep(hparams.is_recr(0));\n    res->t_embd = cur;\n")},
    )
    ours = (history.fork.path / HERON).read_text()
    history.fork.commit("ours: names", {HERON: ours.replace("is_recr", "is_recurrent_layer")})

    document = desk.json("port", "300", status=0)

    assert document["hunks"][0]["detail"].endswith("; is_recr is called is_recurrent_layer here")
    assert "    keep(hparams.is_recurrent_layer(0));\n" in ported(history.fork, HERON, 300)


def test_a_mapped_name_that_the_fork_has_as_well_is_left_alone(desk: Desk, history: MiniHistory) -> None:
    map_file = desk.path / "upstream-map.toml"
    map_file.write_text(map_file.read_text() + '\n[port]\nidentifiers = { is_recr = "is_recurrent_layer" }\n')
    text = history.upstream.text(HERON) + "\n"
    request(
        history,
        300,
        {HERON: text.replace("    res->t_embd = cur;\n", "    keep(hparams.is_recr(0));\n    res->t_embd = cur;\n")},
    )

    document = desk.json("port", "300", status=0)

    assert "is called" not in document["hunks"][0]["detail"]
    assert "    keep(hparams.is_recr(0));\n" in ported(history.fork, HERON, 300)


@pytest.mark.parametrize(
    "line", ['identifiers = { "a-b" = "c" }', 'identifiers = { a = "int x" }', "identifiers = 3"]
)
def test_a_map_with_names_that_are_none_is_refused(desk: Desk, history: MiniHistory, line: str) -> None:
    map_file = desk.path / "upstream-map.toml"
    map_file.write_text(map_file.read_text() + f"\n[port]\n{line}\n")

    assert desk.run("port", "201").status == 2


# -- moved files and functions ---------------------------------------------------------------------------


def test_a_file_that_the_fork_moved_is_found_there(desk: Desk, history: MiniHistory) -> None:
    text = (history.fork.path / HERON).read_text()
    history.fork.commit(
        "ours: birds", {"src/birds/heron.cpp": text.replace('"l_out"', '"layer_out"')}, removed=(HERON,)
    )

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "moved")]
    assert document["hunks"][1]["path"] == HERON
    assert "the fork has this file as src/birds/heron.cpp" in document["hunks"][1]["detail"]
    assert "res->t_layer_inp[il] = cur;" in ported(history.fork, "src/birds/heron.cpp")


def test_a_function_that_the_fork_keeps_in_another_file(desk: Desk, history: MiniHistory) -> None:
    text = (history.fork.path / HERON).read_text()
    at = text.index("\nllama_model_heron::graph::graph(")
    history.fork.commit(
        "ours: one file of graphs", {HERON: text[:at], "src/graphs.cpp": '#include "models.h"\n' + text[at:]}
    )

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "moved")]
    assert "the fork has llama_model_heron::graph::graph in src/graphs.cpp" in document["hunks"][1]["detail"]
    assert "res->t_layer_inp[il] = cur;" in ported(history.fork, "src/graphs.cpp")
    assert ported(history.fork, HERON) == text[:at]


def test_two_functions_that_the_fork_keeps_in_one_other_file(desk: Desk, history: MiniHistory) -> None:
    one, two = ("int one(int x) {\n    int a = x;\n    return a;\n}\n", "int two(int x) {\n    return x;\n}\n")
    newer = one.replace("return a;", "return a + 1;"), two.replace("return x;", "return x + 2;")
    filler = "".join(f"int f{number}(int x);\n" for number in range(9))
    history.upstream.git("checkout", "-q", "-B", "master", history.base)
    history.upstream.commit("pair (#299)", {"src/pair.cpp": one + filler + two})
    history.upstream.commit("more (#300)", {"src/pair.cpp": newer[0] + filler + newer[1]})
    history.fork.git("fetch", "-q", "-f", "upstream")
    history.fork.commit("ours: elsewhere", {"src/pair.cpp": filler, "src/all.cpp": "// all\n" + two + "\n" + one})

    document = desk.json("port", "300", status=0)

    assert {hunk["outcome"] for hunk in document["hunks"]} == {"moved"}
    assert "the fork has one, two in src/all.cpp" in document["hunks"][0]["detail"]
    assert ported(history.fork, "src/all.cpp", 300) == "// all\n" + newer[1] + "\n" + newer[0]
    assert ported(history.fork, "src/pair.cpp", 300) == filler


def test_a_moved_function_that_the_fork_edited_conflicts_where_it_is(desk: Desk, history: MiniHistory) -> None:
    text = (history.fork.path / HERON).read_text()
    at = text.index("\nllama_model_heron::graph::graph(")
    moved = text[at:].replace("ggml_cpy(ctx0, tail, state_slot(il, 0))", "ggml_dup(ctx0, tail, own_slot(il))")
    history.fork.commit("ours: one file of graphs", {HERON: text[:at], "src/graphs.cpp": moved})

    document = desk.json("port", "201", status=1)

    assert [(c["path"], "own_slot" in c["ours"]) for c in document["conflicts"]] == [("src/graphs.cpp", True)]


# -- both sides add --------------------------------------------------------------------------------------


def test_cases_that_both_sides_add_are_joined_upstream_first(desk: Desk, history: MiniHistory) -> None:
    history.fork.commit("ours: robin", {ARCH: mini_llama.arch_source(rollback=("otter", "robin"))})

    document = desk.json("port", "201", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "additive"), ("heron.cpp", "clean")]
    assert document["hunks"][0]["detail"].startswith("both sides add to the same switch")
    expected = mini_llama.arch_source(rollback=("otter", "heron", "heronmoe", "robin"))
    assert ported(history.fork, ARCH) == expected


def test_table_rows_and_enumerators_that_both_sides_add_are_joined(desk: Desk, history: MiniHistory) -> None:
    archs = mini_llama.ARCHS
    upstream = mini_llama.draft_support()[ARCH]
    row = '    {{ {:<20} "{}" }},\n'
    last = row.format("LLM_ARCH_SKETCH,", "sketch")
    assert last in upstream
    theirs = row.format("LLM_ARCH_CRANE,", "crane")
    request(
        history, 300, {ARCH: upstream.replace(last, last + theirs), NAMES: mini_llama.arch_header((*archs, "crane"))}
    )
    mine = row.format("LLM_ARCH_ROBIN,", "robin")
    base = mini_llama.arch_source()
    history.fork.commit(
        "ours: robin", {ARCH: base.replace(last, last + mine), NAMES: mini_llama.arch_header((*archs, "robin"))}
    )

    document = desk.json("port", "300", status=0)

    assert outcomes(document) == [("llama-arch.cpp", "additive"), ("llama-arch.h", "additive")]
    assert last + theirs + mine in ported(history.fork, ARCH, 300)
    assert "    LLM_ARCH_CRANE,\n    LLM_ARCH_ROBIN,\n" in ported(history.fork, NAMES, 300)


def test_entries_that_both_sides_add_to_a_table_of_the_converter_are_joined(desk: Desk, history: MiniHistory) -> None:
    name = "gguf-py/gguf/names.py"
    base = 'NAMES = {\n    "otter": 1,\n}\n'
    history.upstream.git("checkout", "-q", "-B", "master", history.base)
    history.upstream.commit("names (#299)", {name: base})
    history.upstream.commit("crane (#300)", {name: base.replace("}", '    "crane": 2,\n}')})
    history.fork.git("fetch", "-q", "-f", "upstream")
    history.fork.commit("ours: robin", {name: base.replace("}", '    "robin": 3,\n}')})

    document = desk.json("port", "300", status=0)

    assert outcomes(document) == [("names.py", "additive")]
    assert ported(history.fork, name, 300) == 'NAMES = {\n    "otter": 1,\n    "crane": 2,\n    "robin": 3,\n}\n'


def test_an_edited_line_beside_the_additions_is_a_conflict(desk: Desk, history: MiniHistory) -> None:
    mine = mini_llama.arch_source(rollback=("otter", "robin"))
    switch = mine.index("supports_rs_rollback")
    edited = mine[:switch] + mine[switch:].replace("case LLM_ARCH_OTTER:", "case LLM_ARCH_OTTER: // ours")
    history.fork.commit("ours: robin, and a word", {ARCH: edited})

    document = desk.json("port", "201", status=1)

    assert outcomes(document) == [("llama-arch.cpp", "conflict"), ("heron.cpp", "clean")]


def test_the_same_row_with_another_meaning_is_a_conflict(desk: Desk, history: MiniHistory) -> None:
    upstream = mini_llama.draft_support()[ARCH]
    last = '    { LLM_ARCH_SKETCH,     "sketch" },\n'
    request(history, 300, {ARCH: upstream.replace(last, last + '    { LLM_ARCH_CRANE,      "crane" },\n')})
    base = mini_llama.arch_source()
    history.fork.commit(
        "ours: crane", {ARCH: base.replace(last, last + '    { LLM_ARCH_CRANE,      "our-crane" },\n')}
    )

    assert desk.json("port", "300", status=1)["status"] == "conflict"


# -- there already ---------------------------------------------------------------------------------------


def test_a_change_that_the_fork_laid_out_otherwise_is_there_already(desk: Desk, history: MiniHistory) -> None:
    edit(
        history,
        HERON,
        "        ggml_tensor * prev = cur;\n",
        "        res->t_layer_inp[ il ]\n            = cur;\n        ggml_tensor * prev = cur;\n",
    )
    upstream = history.upstream.text(HERON, ref=history.base) + "\n"
    history.upstream.git("checkout", "-q", "-b", "old", history.base)
    head = history.upstream.commit(
        "heron : layer input",
        {
            HERON: upstream.replace(
                "        ggml_tensor * prev = cur;\n", mini_llama.LAYER_INPUT + "        ggml_tensor * prev = cur;\n"
            )
        },
    )
    history.upstream.git("update-ref", "refs/pull/301/head", head)
    history.fork.git("fetch", "-q", "upstream", "refs/pull/301/head:refs/pull/301/head")

    document = desk.json("port", "301", status=0)

    assert document["status"] == "already-present"
    assert document["hunks"][0]["detail"].endswith("laid out otherwise")


# -- as upstream has it later ------------------------------------------------------------------------------


def in_three_steps(history: MiniHistory) -> tuple[str, str]:
    """A file that upstream changes twice in one place, and a third time elsewhere; its second and last version."""
    name = "docs/steps.txt"
    lines = [f"line {number} of the steps\n" for number in range(30)]
    second, third = list(lines), list(lines)
    second[10] = "line 10, a first time\n"
    third[10:11] = ["line 10, a second time\n", "with one more\n"]
    last = [*third[:25], "line 24, too\n", *third[26:]]
    history.upstream.git("checkout", "-q", "-B", "master", history.base)
    for number, version in ((299, lines), (300, second), (301, third), (302, last)):
        history.upstream.commit(f"steps (#{number})", {name: "".join(version)})
    history.fork.git("fetch", "-q", "-f", "upstream")
    return name, "".join(last)


def test_what_the_fork_took_from_upstream_later_is_there_already(desk: Desk, history: MiniHistory) -> None:
    name, last = in_three_steps(history)
    history.fork.commit("ours: steps", {name: "ours\n" + last})

    document = desk.json("port", "300", status=0)

    assert document["status"] == "already-present"
    assert [hunk["detail"] for hunk in document["hunks"]] == ["as upstream has it later: #302"]


def test_a_later_version_that_the_fork_edited_there_is_a_conflict(desk: Desk, history: MiniHistory) -> None:
    name, last = in_three_steps(history)
    history.fork.commit("ours: steps", {name: last.replace("a second time", "our time")})

    assert outcomes(desk.json("port", "300", status=1)) == [("steps.txt", "conflict")]


def test_what_upstream_moved_on_later_is_not_added_once_more(desk: Desk, history: MiniHistory) -> None:
    name = "docs/moved.txt"
    lines = [f"line {number} of the file\n" for number in range(40)]
    block = ["a block\n", "of two lines\n"]
    history.upstream.git("checkout", "-q", "-B", "master", history.base)
    versions = (lines, [*lines[:10], *block, *lines[10:]], [*lines[:30], *block, *lines[30:]])
    for number, version in enumerate(versions, 299):
        history.upstream.commit(f"blocks (#{number})", {name: "".join(version)})
    history.fork.git("fetch", "-q", "-f", "upstream")
    history.fork.commit("ours: blocks", {name: "ours\n" + "".join(versions[2])})

    document = desk.json("port", "300", status=0)

    assert document["status"] == "already-present"
    assert [hunk["detail"] for hunk in document["hunks"]] == ["as upstream has it later: #301"]
