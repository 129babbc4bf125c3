"""`forkguard wiring`, whole: text, JSON by its schema, Markdown, exit status."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.support.commands import Outcome, forkguard
from tests.support.drifting import Desk, desk_for
from tests.support.repos import MiniHistory

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/wiring.json").read_text())
TEXT = """\
4 archs: 6 cells differ
fork production {fork}, upstream upstream/master {upstream}

  A  rollback-registry: the arch is registered for recurrent-state rollback
  B  node-budget-registry: the arch has the larger node budget
  C  layer-input: the layer loop publishes its input
  D  snapshot-writes: recurrent state is written once per rollback slot
  branch: only inside a branch; -: no, and the feature matters to other archs only

draft-dspark needs rollback-registry, node-budget-registry, layer-input, snapshot-writes
  ready: otter
  2 archs without rollback-registry, layer-input, snapshot-writes, upstream not ready either: heron, heronmoe
  1 arch without layer-input, upstream not ready either: sketch

Fork and upstream differ (fork/upstream)
            A       B   C       D
  heron     no/yes  -   no/yes  no/yes
  heronmoe  no/yes  -   no/yes  no/yes  graph of heron

The same in both
          A    B    C    D
  otter   yes  yes  yes  yes
  sketch  -    -    no   -

Next
  forkguard drift --arch heron --arch heronmoe    says who brought what differs, and how to mend it
"""


@pytest.fixture
def desk(history: MiniHistory, tmp_path: Path) -> Desk:
    return desk_for(history, tmp_path / "desk")


def wiring(desk: Desk, *words: str) -> Outcome:
    return forkguard("wiring", *words, cwd=desk.folder)


def test_the_whole_text_for_a_draft_type(desk: Desk) -> None:
    outcome = wiring(desk, "--draft", "dspark")
    history = desk.history
    assert outcome.out == TEXT.format(fork=history.own[1][:10], upstream=history.tip[:10])
    assert (outcome.status, outcome.err) == (0, "")


def test_the_json_keeps_its_contract(desk: Desk) -> None:
    document = json.loads(wiring(desk, "--format", "json").out)
    jsonschema.validate(document, SCHEMA)
    assert document["fork"] == {"ref": "production", "commit": desk.history.own[1]}
    rows = {arch["name"]: arch for arch in document["archs"]}
    assert list(rows) == ["otter", "heron", "heronmoe", "sketch"]
    assert rows["heron"]["cells"]["layer-input"] == {"fork": "no", "upstream": "yes", "differs": True}
    assert document["draft"] is None
    assert document["summary"] == {"archs": 4, "differ": 2, "cells_that_differ": 6}
    assert "no column for rope-type: upstream has no llama_model_rope_type" in document["warnings"]
    drafts = json.loads(wiring(desk, "--draft", "draft-eagle3", "--format", "json").out)
    jsonschema.validate(drafts, SCHEMA)
    assert drafts["draft"]["ready"] == ["otter"]


def test_markdown_makes_bold_what_differs_and_puts_it_first(desk: Desk) -> None:
    lines = wiring(desk, "--draft", "dspark", "--format", "markdown").out.splitlines()
    assert lines[0] == "### forkguard wiring: 4 archs: 6 cells differ"
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "| arch | rollback-registry | node-budget-registry | layer-input | snapshot-writes |"
    assert table[2] == "| `heron` | **no/yes** | - | **no/yes** | **no/yes** |"
    assert [line.split("`")[1] for line in table[2:]] == ["heron", "heronmoe", "otter", "sketch"]


def test_an_arch_that_the_fork_has_not_is_told_and_exits_1(desk: Desk) -> None:
    outcome = wiring(desk, "--arch", "otter", "--arch", "crane")
    assert outcome.status == 1
    assert any(line.split() == ["crane", "in", "neither", "tree"] for line in outcome.out.splitlines())
    assert wiring(desk, "--arch", "otter").status == 0


def test_an_unknown_draft_type_is_wrong_use(desk: Desk) -> None:
    outcome = wiring(desk, "--draft", "medusa")
    assert outcome.status == 2
    assert outcome.told()[0] == "no wiring rule speaks of the draft type medusa"
    assert "draft-dspark" in outcome.told()[2]


def test_rules_of_the_map_are_columns_and_the_fork_is_left_alone(desk: Desk) -> None:
    desk.accept(
        '\n[[rule]]\nid = "layer-callback"\nform = "statement"\ntitle = "each layer calls back"\nseverity = "note"\n'
        'why = "our tracer reads it"\nquery = \'((call_expression function: (identifier) @f) (#eq? @f "cb"))\'\n'
        'drafts = ["draft-ours"]\n'
    )
    before = desk.history.fork.snapshot()
    document = json.loads(wiring(desk, "--draft", "ours", "--format", "json").out)
    assert [feature["id"] for feature in document["features"]] == ["layer-callback"]
    assert document["draft"]["lacks"] == []
    assert desk.history.fork.snapshot() == before
