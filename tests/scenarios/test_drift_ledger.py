"""What `forkguard drift` reads and writes beside its findings: the ledger, the baseline, rules of the user's own."""

import json
from datetime import date
from pathlib import Path

import jsonschema
import pytest

from forkguard.adapters.files import locked
from tests.support.drifting import Desk, desk_for, only
from tests.support.mini_llama import LAYER_INPUT
from tests.support.repos import MiniHistory

BASELINE_SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/drift-baseline.json").read_text())
OTTER = "src/models/otter.cpp"


@pytest.fixture
def desk(history: MiniHistory, tmp_path: Path) -> Desk:
    return desk_for(history, tmp_path / "desk")


def map_text(desk: Desk) -> str:
    return (desk.folder / "upstream-map.toml").read_text()


# -- all archs -------------------------------------------------------------------------------------------


def test_all_takes_every_arch_that_the_fork_makes_a_model_of(desk: Desk) -> None:
    outcome = desk.run("--all", "--format", "json")
    document = json.loads(outcome.out)
    assert [arch["name"] for arch in document["archs"]] == ["otter", "heron", "heronmoe", "sketch"]
    assert outcome.status == 1
    assert {f["arch"] for f in document["findings"]} == {"otter", "heron", "heronmoe"}
    one = {f["id"] for f in desk.drift("heron")["findings"]}
    assert one == {f["id"] for f in document["findings"] if f["arch"] != "otter"}, "the same ids as arch by arch"


def test_all_leaves_placeholders_out_and_says_which_archs_upstream_has_alone(desk: Desk) -> None:
    names = ("src/llama-arch.h", ("    LLM_ARCH_SKETCH,\n", "    LLM_ARCH_SKETCH,\n    LLM_ARCH_CRANE,\n"))
    table = ('    { LLM_ARCH_UNKNOWN,    "(unknown)" },\n', '    { LLM_ARCH_CRANE, "crane" },\n')
    desk.upstream_edit("crane : a name (#230)", *names)
    desk.upstream_edit("crane : more (#231)", "src/llama-arch.cpp", (table[0], table[1] + table[0]))
    make = "        case LLM_ARCH_SKETCH:\n"
    desk.upstream_edit(
        "crane : a model (#232)", "src/llama-model.cpp",
        (make, f"        case LLM_ARCH_CRANE:\n            return new llama_model_crane(params);\n{make}"),
    )  # fmt: skip
    document = json.loads(desk.run("--all", "--format", "json").out)
    assert "upstream has 1 arch that the fork has not: crane" in document["warnings"]
    desk.fork_edit("ours: a name", "src/llama-arch.cpp", (table[0], table[1] + table[0]))
    document = json.loads(desk.run("--all", "--format", "json").out)
    assert "crane" not in {arch["name"] for arch in document["archs"]}, "a name without a model is a placeholder"


def test_all_does_not_go_with_arch(desk: Desk) -> None:
    outcome = desk.run("--all", "--arch", "heron")
    assert outcome.status == 2
    assert outcome.told() == ("--all and --arch do not go together", "", "forkguard drift --all, or --arch NAME")


# -- accept ----------------------------------------------------------------------------------------------


def test_accept_writes_the_map_and_the_finding_counts_no_more(desk: Desk) -> None:
    path = desk.folder / "upstream-map.toml"
    path.write_text("# mine\n" + path.read_text() + "\n[gate]\ntokens = 64 # enough\n")
    before = path.read_text()
    name = only(desk.drift("heron"), rule="layer-input")["id"]
    outcome = desk.run("--accept", name, "--reason", "no drafts here", "--by", "Ada", "--until", "2999-12-31")
    assert outcome.status == 0, outcome.err
    assert outcome.out == f"accepted until 2999-12-31, by Ada: {name}\n4 findings of this run still count\n"
    entry = f'\n[[accept]]\nid = "{name}"\nreason = "no drafts here"\nby = "Ada"\nuntil = 2999-12-31\n'
    assert path.read_text() == before + entry
    document = desk.drift("heron", status=1)
    found = only(document, id=name)
    assert (found["kind"], found["ledger"]) == ("accepted", "no drafts here")
    assert document["summary"]["counted"] == 4


def test_accept_takes_several_at_once_and_gits_user_answers_for_them(desk: Desk) -> None:
    desk.history.fork.git("config", "user.name", "Grace Heron")
    ids = [f["id"] for f in desk.drift("heron")["findings"] if not f["also_upstream"]]
    words = [word for name in ids for word in ("--accept", name)]
    outcome = desk.run(*words, "--reason", "all known", "--arch", "heron")
    assert outcome.out.splitlines()[-1] == "0 findings of this run still count"
    assert map_text(desk).count('by = "Grace Heron"\n') == len(ids)
    assert desk.drift("heron", status=0)["archs"][0]["status"] == "clean"


def test_an_id_that_is_not_found_is_refused_and_nothing_is_written(desk: Desk) -> None:
    before = map_text(desk)
    name = only(desk.drift("heron"), rule="layer-input")["id"]
    outcome = desk.run("--accept", name, "--accept", "heron/layer-input/00000000", "--reason", "x", "--by", "Ada")
    assert outcome.status == 2
    assert outcome.told()[0] == "this run finds nothing with the id heron/layer-input/00000000"
    assert outcome.told()[2] == f"close to it: {name}"
    assert map_text(desk) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--accept", "heron/x/1"), "--accept needs a reason"),
        (("--accept", "heron/x/1", "--reason", " "), "--accept needs a reason"),
        (("--arch", "heron", "--reason", "x"), "--reason, --by and --until belong to --accept"),
        (("--accept", "heron/x/1", "--reason", "x", "--until", "2020-01-01"), "--until 2020-01-01 is past"),
        (("--accept", "heron/x/1", "--reason", "x", "--format", "json"), "--accept writes and says so"),
        (("--accept", "heron/x/1", "--reason", "x", "--all", "--write-baseline"), "--accept and --write-baseline"),
        (("--arch", "heron", "--write-baseline"), "a baseline is of all archs"),
        (("--fixes", "--accept", "heron/x/1", "--reason", "x"), "--fixes lists, it writes nothing"),
        (("--all", "--write-baseline", "--format", "sarif"), "--write-baseline writes and says so"),
    ],
)
def test_options_that_do_not_fit_are_wrong_use(desk: Desk, words: tuple[str, ...], said: str) -> None:
    outcome = desk.run(*words)
    assert outcome.status == 2
    assert outcome.told()[0].startswith(said)
    assert outcome.out == ""


def test_an_expired_entry_is_said_and_accept_renews_it_in_its_place(desk: Desk) -> None:
    name = only(desk.drift("heron"), rule="layer-input")["id"]
    desk.accept(f'\n[[accept]] # the first\nid = "{name}"\nreason = "later"\nby = "Ada"\nuntil = 2020-01-01\n')
    (said,) = [w for w in desk.drift("heron")["warnings"] if "expired" in w]
    assert said.startswith(f"the acceptance of {name} expired on 2020-01-01, so it counts again")
    assert f"note: {said}" in desk.run("--arch", "heron").out
    assert desk.run("--accept", name, "--reason", "still", "--by", "Bo").status == 0
    assert map_text(desk).endswith(f'\n[[accept]] # the first\nid = "{name}"\nreason = "still"\nby = "Bo"\n')
    again = desk.run("--accept", name, "--reason", "more", "--by", "Bo")
    assert (again.status, again.told()[0]) == (2, f"{name} is accepted already, by Bo: still")


def test_two_that_accept_at_once_take_turns(desk: Desk) -> None:
    name = only(desk.drift("heron"), rule="layer-input")["id"]
    before = map_text(desk)
    with locked(desk.folder / ".forkguard" / "map.lock", purpose="another accept"):
        outcome = desk.run("--accept", name, "--reason", "x", "--by", "Ada")
    assert outcome.status == 3
    assert "another accept" in outcome.told()[0]
    assert map_text(desk) == before


def test_an_entry_that_matches_nothing_any_more_is_said(desk: Desk) -> None:
    desk.accept('\n[[accept]]\nid = "otter/layer-input/12345678"\nreason = "old"\nby = "Ada"\n')
    said = "accepted otter/layer-input/12345678 matches nothing any more: its [[accept]] can go from the map"
    assert said in desk.drift("otter")["warnings"]
    assert said not in desk.drift("heron")["warnings"], "otter was not looked at"


# -- baseline --------------------------------------------------------------------------------------------


def test_a_baseline_leaves_only_what_is_new(desk: Desk) -> None:
    outcome = desk.run("--all", "--write-baseline")
    assert outcome.status == 0, outcome.err
    assert outcome.out.splitlines()[0] == "wrote drift-baseline.json: 5 findings (1 crash, 3 slow, 1 change)"
    assert outcome.out.splitlines()[1] == "  crash      heron: missing: the layer loop publishes its input"
    document = json.loads((desk.folder / "drift-baseline.json").read_text())
    jsonschema.validate(document, BASELINE_SCHEMA)
    assert document["fork"] == {"ref": "production", "commit": desk.history.own[1]}
    assert document["upstream"]["commit"] == desk.history.tip
    assert date.fromisoformat(document["written"]).year >= 2026
    clean = desk.run("--all", "--baseline")
    assert clean.status == 0
    assert clean.out.splitlines()[0] == "otter, heron, heronmoe, sketch: nothing new; 5 findings in the baseline"
    assert "In the baseline drift-baseline.json, not counted: 1 crash, 3 slow, 1 change" in clean.out
    assert "  crash      heron: missing: the layer loop publishes its input" in clean.out.splitlines()
    desk.fork_edit("ours: tidy otter", OTTER, (LAYER_INPUT, ""))
    document = json.loads(desk.run("--all", "--baseline", "--format", "json").out)
    assert document["summary"]["counted"] == 1 + len(
        [f for f in document["findings"] if f["arch"] == "otter" and f["kind"] == "hazard"]
    )
    assert only(document, arch="otter", rule="layer-input")["kind"] == "lost"
    assert {f["ledger"] for f in document["findings"] if f["arch"] == "heron" and not f["also_upstream"]} == {
        "baseline drift-baseline.json"
    }


def test_what_is_mended_is_said_and_another_file_can_be_named(desk: Desk) -> None:
    assert desk.run("--all", "--write-baseline", "--baseline", "old.json").status == 0
    heron = desk.history.upstream.text("src/models/heron.cpp")
    desk.history.fork.commit("port 201", {"src/models/heron.cpp": heron})
    document = desk.drift("heron", more=("--baseline", "old.json"))
    (said,) = [w for w in document["warnings"] if w.startswith("baseline old.json")]
    assert said.startswith("baseline old.json: 3 of its 5 findings match nothing any more (heron/")
    assert not (desk.folder / "drift-baseline.json").exists()


def test_a_baseline_that_is_not_there_or_none_is_wrong_use(desk: Desk) -> None:
    outcome = desk.run("--all", "--baseline")
    assert outcome.status == 2
    assert outcome.told()[0] == "cannot read the baseline: No such file or directory"
    assert outcome.told()[2].startswith("forkguard drift --all --write-baseline")
    (desk.folder / "drift-baseline.json").write_text("[]")
    assert desk.run("--all", "--baseline").told()[0].startswith("this is no baseline of forkguard")


def test_nothing_of_the_forks_is_touched(desk: Desk) -> None:
    before = desk.history.fork.snapshot()
    name = only(desk.drift("heron"), rule="layer-input")["id"]
    desk.run("--accept", name, "--reason", "x", "--by", "Ada")
    desk.run("--all", "--write-baseline")
    assert desk.history.fork.snapshot() == before
    names = {path.name for path in desk.folder.iterdir()}
    assert names == {"upstream-map.toml", "drift-baseline.json", ".forkguard"}


# -- own rules -------------------------------------------------------------------------------------------

OWN = """
[[rule]]
id = "layer-callback"
form = "statement"
title = "each layer calls back"
severity = "corruption"
why = "our tracer reads it"
loop = 'n_layer'
query = '((call_expression function: (identifier) @f) (#eq? @f "cb"))'
"""


def test_a_rule_of_the_map_is_checked_and_one_that_is_disabled_is_not(desk: Desk) -> None:
    desk.fork_edit("ours: silence", "src/models/sketch.cpp", ('        cb(cur, "l_out", il);\n', ""))
    assert only(desk.drift("sketch"), arch="sketch")["rule"] == "statement"
    desk.accept(OWN)
    found = only(desk.drift("sketch"), arch="sketch")
    assert (found["rule"], found["severity"], found["kind"]) == ("layer-callback", "corruption", "lost")
    desk.accept('\n[defaults]\ndisabled_rules = ["layer-callback", "layer-input"]\n')
    document = desk.drift("sketch", "heron")
    assert {f["rule"] for f in document["findings"]}.isdisjoint({"layer-callback", "layer-input"})
    assert (
        "rule layer-input-among-siblings is disarmed: it needs layer-input, which is disabled" in document["warnings"]
    )


def test_a_bad_rule_is_wrong_use_with_file_and_line(desk: Desk) -> None:
    desk.accept(OWN.replace('"corruption"', '"awful"'))
    outcome = desk.run("--arch", "heron")
    assert outcome.status == 2
    assert outcome.told()[0].startswith("rule layer-callback: severity is 'awful'")
    line = map_text(desk).splitlines().index('severity = "awful"') + 1
    assert outcome.told()[1] == f"{desk.folder / 'upstream-map.toml'}:{line}"


def test_a_statement_rule_that_matches_nothing_upstream_is_disarmed(desk: Desk) -> None:
    desk.accept(OWN.replace('"cb"', '"callback"'))
    assert "rule layer-callback is disarmed: nothing in upstream matches its query" in desk.drift("heron")["warnings"]
