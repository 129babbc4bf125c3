"""Rules of the user's own beside the bundled ones: taken, refused with file and line, overriding, disabled."""

from pathlib import Path

import pytest

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.rulebook import FIELDS, read_rules, rulebook
from forkguard.errors import UsageProblem

HEAD = '[upstream]\nremote = "upstream"\nref = "upstream/master"\n\n'
OWN = """[[rule]]
id = "own-callback"
form = "statement"
title = "each layer calls back"
severity = "note"
why = "our tracer reads it"
query = '((call_expression function: (identifier) @f) (#eq? @f "cb"))'
"""
PAIR = """[[rule]]
id = "own-pair"
form = "pair"
title = "a pair"
severity = "slow"
why = "because"
if = "layer-input"
then = "own-callback"
"""


def book(text: str, *disabled: str) -> dict[str, str]:
    return {rule.id: rule.title for rule in rulebook(bundled_rules(), HEAD + text, name="m.toml", disabled=disabled)}


def refused(text: str, *disabled: str) -> UsageProblem:
    with pytest.raises(UsageProblem) as caught:
        book(text, *disabled)
    return caught.value


def test_own_rules_stand_behind_the_bundled_ones() -> None:
    assert list(book(OWN + PAIR)) == [*(rule.id for rule in bundled_rules()), "own-callback", "own-pair"]
    assert list(book("")) == [rule.id for rule in bundled_rules()]


def test_a_rule_of_the_same_id_takes_the_bundled_ones_place() -> None:
    changed = book(OWN.replace("own-callback", "layer-input"))
    assert changed["layer-input"] == "each layer calls back"
    assert list(changed) == [rule.id for rule in bundled_rules()]


def test_a_disabled_rule_is_not_there_and_an_unknown_one_is_refused() -> None:
    assert set(book(OWN, "own-callback", "rope-type")) == {rule.id for rule in bundled_rules()} - {"rope-type"}
    text = '[defaults]\ndisabled_rules = [\n  "rope-typ",\n]\n'
    problem = refused(text, "rope-typ")
    assert problem.what == "defaults.disabled_rules names rope-typ, and no rule has that id"
    assert problem.where.startswith("m.toml:")
    assert "rope-type" in problem.hint


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('severity = "note"', 'severity = "bad"', 9, "severity is 'bad', not one of crash"),
        ("why =", "wye =", 10, "lacks 'why'; has an unknown key 'wye'"),
        ('id = "own-callback"', 'id = "Own"', 6, "lower-case words with hyphens"),
        ('id = "own-callback"', 'id = "statement"', 6, "lower-case words with hyphens"),
        ('title = "each layer calls back"', 'title = " "', 8, "title is empty"),
        ("(identifier) @f) (#eq", "(identifier)) (#eq", 11, "query cannot be read as a query or a pattern"),
        (' @f) (#eq? @f "cb")', ")", 11, "query captures nothing"),
        ('form = "statement"', 'form = "statement"\nloop = "("', 8, "loop cannot be read"),
        ('form = "statement"', 'form = "statement"\nblock = 1', 8, "block is 1, which is not of its type"),
        ('form = "statement"', 'form = "statement"\npulls = [true]', 8, "not a list of numbers"),
        ('form = "statement"', 'form = "statement"\nlog = ["x", ""]', 8, "log is ['x', ''], not a text of the"),
        (
            'form = "statement"',
            'form = "statement"\nlog = 1',
            8,
            "log is 1, not a text of the server's log or a list",
        ),
        ('form = "statement"', 'form = "statement"\namong = "layer-inptu"', 8, "among = 'layer-inptu' is no rule"),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, line: int, said: str) -> None:
    assert old in OWN
    problem = refused(OWN.replace(old, new))
    assert said in problem.what
    assert problem.what.startswith("rule ")
    assert problem.where == f"m.toml:{line}"


@pytest.mark.parametrize(
    ("line", "logs"),
    [("", ()), ('log = ""', ()), ('log = "one"', ("one",)), ('log = ["one", "two"]', ("one", "two"))],
)
def test_a_rule_names_one_text_of_the_log_or_several(line: str, logs: tuple[str, ...]) -> None:
    (rule,) = read_rules(f"{OWN}{line}\n", name="x.toml")
    assert rule.logs == logs


def test_the_node_budget_aborts_with_two_texts() -> None:
    logs = {rule.id: rule.logs for rule in bundled_rules()}
    assert logs["node-budget-registry"] == logs["rollback-without-node-budget"]
    told = (
        "GGML_ASSERT(obj_new) failed",
        "GGML_ASSERT((int)sched->hash_set.size >= measure_graph->n_nodes + measure_graph->n_leafs) failed",
    )
    for text in told:
        assert any(log in text for log in logs["node-budget-registry"])


def test_a_pair_needs_features_that_rules_define() -> None:
    assert refused(PAIR).where == "m.toml:12"
    assert "then = 'own-callback' is no rule" in refused(PAIR).what
    other = PAIR.replace("own-callback", "rollback-without-snapshots")
    assert "is no statement or registry rule" in refused(other).what


def test_two_rules_of_one_id_in_one_file_are_refused() -> None:
    problem = refused(OWN + OWN)
    assert problem.where == "m.toml:13"
    assert "another rule of this id" in problem.what
    with pytest.raises(UsageProblem):
        read_rules(OWN + OWN, name="x.toml")


def test_the_manual_lists_every_bundled_rule_and_every_key() -> None:
    manual = (Path(__file__).parents[2] / "docs/rules.md").read_text()
    for rule in bundled_rules():
        assert f"| `{rule.id}` | {rule.form} | {rule.severity.value} | {rule.title} |" in manual
    for key in FIELDS:
        assert f"`{key}`" in manual or f"{key} =" in manual, key
