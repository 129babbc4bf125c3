"""Notices reach a command and a webhook; what fails is said, without the address."""

import hashlib
import hmac
import json
from pathlib import Path

import jsonschema
import pytest

from forkguard.adapters.notify import append_summary, post, run_command
from forkguard.core.nightly import Night, NightPatch, NightSide, NightUpstream
from forkguard.core.notices import notice
from forkguard.core.replay import PatchStatus
from tests.support.hook import hook
from tests.unit.test_nightly_record import night

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "notice.json"


def red() -> Night:
    return night(
        fork=NightSide("production", "a" * 40),
        upstream=NightUpstream("upstream/master", "a" * 40, "b" * 40, 1, 1),
        stack=(NightPatch("one", "0001-x.patch", PatchStatus.CONFLICT),),
    )


def test_a_notice_fits_its_schema() -> None:
    for one in (red(), night()):
        jsonschema.validate(json.loads(notice(one, steps=["x"])), json.loads(SCHEMA.read_text()))
    assert json.loads(notice(red(), steps=[]))["failing"] == ["one/0001-x.patch: conflict"]


def test_the_body_is_signed_and_the_delivery_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_KEY", "geheim")
    with hook() as there:
        assert post(there.url, '{"a": "ö"}', delivery="n1", key_name="HOOK_KEY") == ""
    ((headers, body),) = there.got
    assert body == '{"a": "ö"}'.encode()
    assert headers["x-forkguard-signature-256"] == f"sha256={hmac.new(b'geheim', body, hashlib.sha256).hexdigest()}"
    assert (headers["x-forkguard-delivery"], headers["content-type"]) == ("n1", "application/json")


def test_without_its_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_KEY", raising=False)
    with hook() as there:
        assert "HOOK_KEY" in post(there.url, "{}", delivery="n1", key_name="HOOK_KEY")
    assert there.got == []


@pytest.mark.parametrize(
    ("statuses", "sent", "said"),
    [
        ([503, 429, 200], 3, ""),
        ([500], 3, "it answered 500"),
        ([404], 1, "it answered 404"),
        ([302], 1, "answered 302"),
    ],
)
def test_a_webhook_that_is_busy_is_asked_again(statuses: list[int], sent: int, said: str) -> None:
    waited: list[float] = []
    with hook() as there:
        there.statuses = list(statuses)
        problem = post(there.url, "{}", delivery="n1", key_name=None, pause=waited.append)
    assert (len(there.got), len(waited)) == (sent, sent - 1)
    assert (said in problem) if said else problem == ""
    assert "secret-path" not in problem


@pytest.mark.timeout(20)
def test_a_webhook_whose_answer_does_not_end_holds_nobody_up() -> None:
    with hook() as there:
        there.statuses, there.endless = [200], True
        assert post(there.url, "{}", delivery="n1", key_name=None) == ""


def test_a_webhook_that_is_not_there_is_said_without_its_address() -> None:
    with hook() as there:
        url = there.url
    problem = post(url, "{}", delivery="n1", key_name=None, pause=lambda _: None)
    assert problem == "webhook: 127.0.0.1 was not told: ConnectError"
    plain = post("http://example.org/secret-path", "{}", delivery="n1", key_name=None)
    assert "https" in plain
    assert "secret-path" not in plain


def test_a_command_gets_the_notice_on_stdin(tmp_path: Path) -> None:
    script = 'cat > got; printf %s "$FORKGUARD_VERDICT" > verdict'
    assert run_command(["sh", "-c", script], '{"a": 1}', facts={"FORKGUARD_VERDICT": "red"}, cwd=tmp_path) == ""
    assert ((tmp_path / "got").read_text(), (tmp_path / "verdict").read_text()) == ('{"a": 1}', "red")


@pytest.mark.parametrize("argv", [["sh", "-c", "echo no >&2; exit 3"], ["/nowhere/to/be/found"]])
def test_a_command_that_fails_is_said(argv: list[str], tmp_path: Path) -> None:
    assert run_command(argv, "{}", facts={}, cwd=tmp_path).startswith("notify_command: ")


def test_the_step_summary_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("before\n")
    assert append_summary(path, "night\n") == ""
    assert path.read_text() == "before\nnight\n"
    assert "cannot be written" in append_summary(tmp_path / "no" / "where", "x")
