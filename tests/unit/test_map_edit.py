"""Edits keep what a person wrote."""

from datetime import date

import pytest

from forkguard.core.map_edit import add_accept
from forkguard.core.mapfile import parse_map
from forkguard.errors import UsageProblem

MAP = '# ours\n[upstream] # by Ada\nremote="upstream"\nref   = "upstream/master"   # never main\n'
ENTRY = '\n[[accept]]\nid = "heron/input"\nreason = "not served"\nby = "Ada"\nuntil = 2026-12-31\n'


def accepted(text: str, finding: str = "heron/input", *, until: date | None = date(2026, 12, 31)) -> str:
    return add_accept(text, finding=finding, reason="not served", by="Ada", until=until, name="m.toml")


def test_the_first_entry_goes_to_the_end_and_nothing_else_changes() -> None:
    assert accepted(MAP) == MAP + ENTRY


def test_a_second_entry_follows_the_first() -> None:
    twice = accepted(accepted(MAP), "heron/other", until=None)
    assert twice == MAP + ENTRY + '\n[[accept]]\nid = "heron/other"\nreason = "not served"\nby = "Ada"\n'


def test_comments_between_and_behind_the_ledger_stay() -> None:
    text = MAP + ENTRY + "# a remark\n\n[gate]\ntokens = 64 # enough\n"
    edited = accepted(text, "heron/other")
    assert "# a remark" in edited
    assert "tokens = 64 # enough" in edited
    read = parse_map(edited, name="m.toml")
    assert [entry.id for entry in read.accept] == ["heron/input", "heron/other"]
    assert read.gate.tokens == 64


def test_a_ledger_written_in_one_line_is_kept_so() -> None:
    text = 'accept = [{ id = "a", reason = "b", by = "c" }]\n' + MAP
    read = parse_map(accepted(text), name="m.toml")
    assert [entry.id for entry in read.accept] == ["a", "heron/input"]


@pytest.mark.parametrize("text", [MAP.rstrip("\n"), MAP.replace("\n", "\r\n")])
def test_line_ends_of_every_kind_are_kept(text: str) -> None:
    edited = accepted(text)
    assert edited.startswith(text)
    assert ("\r\n" in text) == ("\r\n" in edited)
    assert edited.count("\r\n") in (0, edited.count("\n"))
    assert parse_map(edited, name="m.toml").accept[0].until == date(2026, 12, 31)


def test_words_that_need_quoting_come_back_as_they_were() -> None:
    reason = 'he said "no"\nand \\ left'
    text = add_accept(MAP, finding="a", reason=reason, by="Ada", name="m.toml")
    assert parse_map(text, name="m.toml").accept[0].reason == reason


def test_a_finding_is_accepted_once() -> None:
    with pytest.raises(UsageProblem, match='repeats "heron/input"'):
        accepted(accepted(MAP))


def test_a_reason_is_asked_for() -> None:
    with pytest.raises(UsageProblem, match=r"accept\[0\]\.reason"):
        add_accept(MAP, finding="a", reason="", by="Ada", name="m.toml")
