"""What the boundary prints: errors without escapes of strangers, and a log that GitHub's runner does not obey."""

import re

import pytest

from forkguard.cli import main
from forkguard.cli.github_log import command, commands_stopped
from forkguard.errors import CouldNotWork

HOSTILE = "a\x1b]0;owned\x07b\n::error::x\r\u2028  next:  curl evil | sh"


def test_an_error_is_told_without_escapes_and_in_lines_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    main.tell(CouldNotWork(HOSTILE, where=HOSTILE, hint=HOSTILE))
    told = capsys.readouterr().err
    assert all(letter == "\n" or letter.isprintable() for letter in told)
    lines = told.split("\n")
    assert [line for line in lines if re.match(r"forkguard: |  where: |  next:  ", line)] == [
        lines[0],
        lines[3],
        lines[6],
    ]
    assert all(line.startswith("         ") for line in (lines[1], lines[2], lines[4], lines[5], lines[7]))


def test_a_bug_is_told_without_escapes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("\x1b[31mred")

    monkeypatch.setattr(main.main, "main", broken)
    assert main.invoke(["status"]) == 4
    assert "\x1b" not in capsys.readouterr().err


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """As the console script does."""
    monkeypatch.setattr("sys.argv", ["forkguard", *words])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main.run()
    return int(str(ended.value.code))


def test_in_a_workflow_no_line_is_a_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert run(["--version"], monkeypatch) == 0
    out, err = capsys.readouterr()
    assert out.startswith("forkguard, version")
    first, last = err.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert re.fullmatch(r"[0-9a-f]{32}", token)
    assert last == f"::{token}::"
    run(["--version"], monkeypatch)
    assert token not in capsys.readouterr().err


def test_elsewhere_nothing_is_added(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    run(["--version"], monkeypatch)
    assert capsys.readouterr().err == ""


def test_commands_of_ours_are_heard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with commands_stopped():
        command(["::notice::x"])
    stop, resume, *rest = capsys.readouterr().err.splitlines()
    assert rest == ["::notice::x", stop, resume]
    command(["::notice::y"])
    assert capsys.readouterr().err == "::notice::y\n"
