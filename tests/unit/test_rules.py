"""Rules as data: what is refused, what matches, and which places contradict each other."""

import pytest

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.archs import SourceTree
from forkguard.core.findings import Severity
from forkguard.core.names import TreePath
from forkguard.core.rulebook import read_rules
from forkguard.core.rules import (
    Rule,
    breaches,
    matches,
    registry_matches,
    statement_matches,
    subject_exists,
)
from forkguard.errors import UsageProblem
from tests.support import mini_llama

RULES = {rule.id: rule for rule in bundled_rules()}
GOOD = """[[rule]]
id = "x"
form = "registry"
symbol = "names?"
title = "listed"
severity = "slow"
why = \"\"\"
two
  lines
\"\"\"
pulls = [12]
"""


HERON, SKETCH, ARCH = "src/models/heron.cpp", "src/models/sketch.cpp", "src/llama-arch.cpp"


def mini(changes: dict[str, str] | None = None) -> SourceTree:
    """The miniature tree as its upstream has it, with some files replaced."""
    files = mini_llama.base_tree() | mini_llama.draft_support() | (changes or {})
    return SourceTree({TreePath(path): text.encode() for path, text in files.items()})


# -- reading -------------------------------------------------------------------------------------------


def test_a_rule_is_read() -> None:
    (rule,) = read_rules(GOOD, name="x.toml")
    assert rule == Rule("x", "registry", "listed", Severity.SLOW, "two lines", symbol="names?", pulls=(12,))  # type: ignore[arg-type]
    assert read_rules("", name="x.toml") == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('form = "registry"', 'form = "pear"', "form is 'pear'"),
        ('form = "registry"\n', "", "form is "),
        ('symbol = "names?"\n', "", "symbol"),
        ("why =", "wye =", "wye"),
        ('severity = "slow"', 'severity = "bad"', "severity is 'bad', not one of crash"),
        ('symbol = "names?"', 'symbol = "names("', "symbol"),
        ('symbol = "names?"', "symbol = 3", "symbol"),
        ("pulls = [12]", 'pulls = ["x"]', "pulls"),
        ("pulls = [12]", "pulls = 12", "pulls"),
        ('form = "registry"', 'form = "statement"\nquery = "(((("', "query"),
        ('form = "registry"', 'form = "statement"\nquery = "(no_such_node) @x"', "query"),
        ('form = "registry"', 'form = "consensus"\nif = "a"\nthen = "b"\nshare = 0.2', "share"),
    ],
)
def test_a_bad_rule_is_refused_with_file_and_rule(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageProblem) as caught:
        read_rules(GOOD.replace(old, new), name="x.toml")
    assert said in caught.value.what
    assert caught.value.what.startswith("rule x: ")
    assert caught.value.where.startswith("x.toml:")
    assert caught.value.hint


@pytest.mark.parametrize("text", ["[[rule]\n", "[rule]\nid = 1\n", "rule = 3\n"])
def test_a_file_that_holds_no_rules_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        read_rules(text, name="x.toml")
    assert caught.value.where == "x.toml"


def test_the_rules_that_ship_fit_together() -> None:
    assert len(RULES) == len(bundled_rules()), "two rules have one id"
    for rule in RULES.values():
        if rule.form in {"pair", "consensus"}:
            assert RULES[rule.given].form in {"statement", "registry"}
            assert RULES[rule.needs].form in {"statement", "registry"}
    assert {"layer-input", "rollback-registry", "rollback-without-snapshots", "rollback-without-node-budget"} <= set(
        RULES
    )
    severities = {
        name: RULES[name].severity.value for name in ("layer-input", "rollback-without-snapshots", "snapshot-writes")
    }
    assert severities == {
        "layer-input": "crash",
        "rollback-without-snapshots": "corruption",
        "snapshot-writes": "slow",
    }


# -- matching ------------------------------------------------------------------------------------------


def lines(tree: SourceTree, rule: str, arch: str) -> list[tuple[str, int]]:
    return [(match.path, match.piece.line) for match in matches(RULES[rule], tree, tree.archs.archs[arch])]


def test_the_layer_input_counts_in_the_layer_loop_only() -> None:
    tree = mini()
    assert lines(tree, "layer-input", "heron") == [("src/models/heron.cpp", 16)]
    assert lines(tree, "layer-input", "heronmoe") == [("src/models/heron.cpp", 16)], "the graph is heron's"
    assert lines(tree, "layer-input", "sketch") == []
    text = mini_llama.graph_source("heron", layer_input=False)
    outside = text.replace("    res->t_embd", "    res->t_layer_inp[0] = cur;\n    res->t_embd")
    assert lines(mini({HERON: outside}), "layer-input", "heron") == []
    other_loop = text.replace("il < n_layer", "il < n_expert").replace(
        "        ggml_tensor * prev", mini_llama.LAYER_INPUT + "        ggml_tensor * prev"
    )
    assert lines(mini({HERON: other_loop}), "layer-input", "heron") == []


def test_the_layer_input_may_be_an_expression_of_any_name() -> None:
    text = mini_llama.graph_source("heron", layer_input=True)
    other = text.replace("res->t_layer_inp[il] = cur;", "res->t_layer_inp[il] = ggml_cont(ctx0, inpL);")
    assert lines(mini({HERON: other}), "layer-input", "heron") == [("src/models/heron.cpp", 16)]
    said = text.replace("res->t_layer_inp[il] = cur;", 'log("res->t_layer_inp[il] = cur"); // t_layer_inp[il] = cur')
    assert lines(mini({HERON: said}), "layer-input", "heron") == []


def test_snapshot_writes_and_outputs() -> None:
    tree = mini()
    assert lines(tree, "snapshot-writes", "heron") == [("src/models/heron.cpp", 21)]
    assert len(lines(tree, "embeddings-output", "heron")) == len(lines(tree, "logits-output", "heron")) == 1


def test_a_registry_is_met_by_its_last_name_and_not_by_return_false() -> None:
    tree = mini()
    rule = RULES["rollback-registry"]
    assert [match.piece.text for match in registry_matches(rule, tree, tree.archs.archs["heron"])] == [
        "case LLM_ARCH_HERON :"
    ]
    assert lines(tree, "node-budget-registry", "otter") != []
    assert lines(tree, "node-budget-registry", "heron") == []
    unregistered = mini_llama.arch_source(rollback=("otter", "heron")).replace(
        "case LLM_ARCH_HERON:\n            return true;\n        default:",
        "    return true;\n        case LLM_ARCH_HERON:\n        default:",
    )
    assert lines(mini({ARCH: unregistered}), "rollback-registry", "heron") == []


def test_a_registry_that_a_tree_does_not_have_disarms_its_rule() -> None:
    tree = mini()
    assert subject_exists(RULES["rollback-registry"], tree)
    assert not subject_exists(RULES["rope-type"], tree)
    assert subject_exists(RULES["layer-input"], tree)


def test_statement_matches_of_an_arch_without_a_class_are_none() -> None:
    tree = mini({"src/llama-model.cpp": "int nothing;\n"})
    assert statement_matches(RULES["layer-input"], tree, tree.archs.archs["heron"]) == ()


# -- contradictions --------------------------------------------------------------------------------------


def broken(tree: SourceTree, *names: str) -> list[tuple[str, str]]:
    found = breaches(RULES.values(), tree, [tree.archs.archs[name] for name in names])
    return sorted((breach.rule.id, breach.arch.name) for breach in found)


def test_what_upstreams_change_leaves_open_is_the_node_budget() -> None:
    assert broken(mini(), "otter", "heron", "heronmoe", "sketch") == [
        ("rollback-without-node-budget", "heron"), ("rollback-without-node-budget", "heronmoe"),
    ]  # fmt: skip


def test_registered_and_not_written_and_the_reverse() -> None:
    unwritten = mini({HERON: mini_llama.graph_source("heron", layer_input=True, state=mini_llama.SINGLE_WRITE)})
    assert ("rollback-without-snapshots", "heron") in broken(unwritten, "heron")
    unregistered = mini({ARCH: mini_llama.arch_source(rollback=("otter",))})
    assert broken(unregistered, "heron") == [("snapshots-without-rollback", "heron")]


def test_an_exempt_arch_breaks_nothing() -> None:
    tree = mini(
        {ARCH: mini_llama.arch_source(names=("otter", "heron", "heronmoe", "sketch")).replace('"heron"', '"mamba"')}
    )
    assert broken(tree, "mamba") == []
    assert "mamba" in RULES["snapshots-without-rollback"].exempt


def test_a_budget_that_is_not_in_the_tree_breaks_nothing() -> None:
    assert broken(mini({"src/llama-context.cpp": "int nothing;\n"}), "heron") == []


def test_an_arch_stands_out_among_siblings_only_when_most_of_many_have_it() -> None:
    names = ("otter", "heron", "heronmoe", "sketch")
    registered = mini_llama.arch_source(rollback=names)
    lacks = mini_llama.graph_source("sketch", layer_input=False)
    tree = mini({ARCH: registered, SKETCH: lacks})
    assert ("layer-input-among-siblings", "sketch") in broken(tree, "sketch")
    note = next(b.note for b in breaches(RULES.values(), tree, [tree.archs.archs["sketch"]]) if b.note)
    assert note == "3 of its 3 siblings have it"
    bare = mini_llama.graph_source("heron", layer_input=False, state=mini_llama.SNAPSHOT_WRITES)
    few = mini({ARCH: registered, SKETCH: lacks, HERON: bare})
    assert "layer-input-among-siblings" not in {rule for rule, _ in broken(few, "sketch", "heron")}
