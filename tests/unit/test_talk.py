"""Progress and remarks: on stderr, coloured only where a person looks."""

import contextlib
import io
import sys

import pytest

from forkguard.cli.talk import ConsoleTalk, wants_color


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called in the test itself: pytest puts its own stream in place between the fixtures and the test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


@pytest.mark.parametrize(
    ("asked", "tty", "no_color", "term", "expected"),
    [
        (None, True, None, "xterm", True),
        (None, False, None, "xterm", False),
        (None, True, "1", "xterm", False),
        (None, True, "", "xterm", True),
        (None, True, None, "dumb", False),
        (True, False, "1", "dumb", True),
        (False, True, None, "xterm", False),
    ],
)
def test_when_there_is_colour(
    *, asked: bool | None, tty: bool, no_color: str | None, term: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    assert wants_color(asked, tty=tty) is expected


def test_a_pipe_gets_notes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with ConsoleTalk() as talk:
        talk.step("reading")
        talk.progress(1, 2, "files")
        talk.note("[bold]as it is[/bold], and long " + "x" * 200)
    assert capsys.readouterr() == ("", "[bold]as it is[/bold], and long " + "x" * 200 + "\n")


def test_verbose_names_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    with ConsoleTalk(verbose=True) as talk:
        talk.step("reading")
    assert capsys.readouterr().err == "-- reading\n"


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with ConsoleTalk() as talk:
        talk.progress(1, 2, "building")
        talk.progress(2, 2, "building")
    text = terminal.getvalue()
    assert "building" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor comes back"


def test_a_step_of_unknown_length_is_seen_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with ConsoleTalk() as talk:
        talk.step("configure the tree")
    assert "configure the tree" in terminal.getvalue()


def test_results_written_while_the_work_goes_on_stay_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with ConsoleTalk() as talk:
        talk.progress(1, 2, "building")
        sys.stdout.write("under the bar\n")
        talk.rest()
        ended = terminal.getvalue().count("\x1b[?25h")
        sys.stdout.write("a result\n")
    assert out.getvalue() == "under the bar\na result\n"
    assert ended == 1


def test_a_bar_ends_with_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with contextlib.suppress(RuntimeError), ConsoleTalk() as talk:
        talk.progress(1, 0, "building")
        raise RuntimeError
    assert terminal.getvalue().count("\x1b[?25h") == 1


def test_no_color_on_a_terminal_means_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    with ConsoleTalk(verbose=True) as talk:
        talk.step("reading")
        talk.progress(1, 2, "files")
        talk.note("done")
    assert terminal.getvalue() == "-- reading\ndone\n"


def test_off_a_terminal_a_step_that_lasts_tells_how_far_it_is_every_half_minute() -> None:
    seconds = iter([0.0, 0.0, 0.0, 29.0, 30.0, 31.0, 59.0, 61.0])
    err = io.StringIO()
    with contextlib.redirect_stderr(err), ConsoleTalk(clock=lambda: next(seconds)) as talk:
        talk.step("build llama-server")
        for done in (10, 20, 30, 40, 50):
            talk.progress(done, 100, f"building {done}/100")
    assert err.getvalue() == "building 20/100\nbuilding 50/100\n"


def test_no_words_of_strangers_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = on_terminal(monkeypatch)
    with ConsoleTalk(color=False, verbose=True) as talk:
        talk.step("reading \x1b]0;owned\x07")
        talk.note("two\x1b[2J\n  lines\r")
    assert stream.getvalue().splitlines() == [
        "-- reading \N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER}",
        "two\N{REPLACEMENT CHARACTER}[2J",
        "  lines",
    ]
    shown = io.StringIO()
    seconds = iter([0.0, 0.0, 0.0, 60.0])
    with contextlib.redirect_stderr(shown), ConsoleTalk(clock=lambda: next(seconds)) as talk:
        talk.step("a")
        talk.progress(1, 2, "at \x1b[31mred")
    assert shown.getvalue() == "at \N{REPLACEMENT CHARACTER}[31mred\n"
