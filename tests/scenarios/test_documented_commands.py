"""Every command that README, docs and help texts show: it parses, and it runs where the miniature project lets it."""

import contextlib
import shutil
from pathlib import Path

import click
import pytest

from forkguard.cli.main import main
from tests.support.commands import forkguard
from tests.support.documented import Shown, commands_in, shown_commands
from tests.support.repos import MiniHistory, copy_of

SHOWN = shown_commands()
_VERBS_THAT_RUN = ("init", "status", "drift", "wiring", "doctor", "port", "stack list", "stack show", "stack verify",
                   "stack replay", "probe --list")  # fmt: skip
_OF_THE_MINIATURE = {
    "lfm2": "heron", "27383": "201", "forkguard/27383": "forkguard/201", "qwen35": "otter", "../llama.cpp": "../fork",
    "PATH": "../fork", "REF": "upstream/master", "NAME": "201", "b10600": "upstream/master~1",
    "upstream/master~100": "upstream/master~1", "../upstream-clone": "../upstream",
}  # fmt: skip
_INCOMPLETE = {("port",), ("init",)}
_NOT_HERE = {
    "--accept": "needs the id of a finding of this very fork",
    "--continue": "needs a port that stopped",
    "--abort": "needs a port that stopped",
    "--skip": "needs a port that stopped",
    "--resolve": "needs a patch in conflict",
    "--quit": "needs a replay that stopped",
}


def parse(words: tuple[str, ...]) -> None:
    """Parse a command line down to its last subcommand, as click does before it runs one."""
    command: click.Command | None = main
    context: click.Context | None = None
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        context = click.Context(command, parent=context)
        _, command, rest = command.resolve_command(context, rest)
    assert command is not None
    command.make_context(command.name, rest, parent=context)


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_it_parses(shown: Shown) -> None:
    words = tuple("drift" if word == "COMMAND" else word for word in shown.words)
    unfinished = (click.MissingParameter, click.BadOptionUsage, click.exceptions.NoArgsIsHelpError)
    if shown.words[-1] in {"--help", "--version"}:
        with pytest.raises(click.exceptions.Exit):
            parse(words)
    elif shown.mention:
        with contextlib.suppress(*unfinished):
            parse(words)
    else:
        parse(words)


def test_commands_are_found_in_every_place() -> None:
    places = {shown.place.split(":")[0].removesuffix(" (text)") for shown in SHOWN}
    assert {"README.md", "docs/getting-started.md", "docs/port.md", "forkguard gate --help"} <= places
    assert len(SHOWN) > 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```sh\ncd x && ../bin/forkguard drift --arch lfm2   # why\n```\n", [("drift", "--arch", "lfm2")]),
        ("```console\n$ A=b forkguard build\nforkguard 1.0 on Linux\n```\n", [("build",)]),
        ("```\nforkguard gate --arch lfm2 \\\n  --width 15     what it does\n```\n", [("gate", "--arch", "lfm2")]),
        ("```yaml\n- run: forkguard drift --all || test $? -eq 1\n```\n", [("drift", "--all")]),
        ("Say `forkguard stack list [--onto REF]`, or ``forkguard x``.\n", [("stack", "list", "--onto", "REF")]),
        ("The forkguard project\n", []),
    ],
)
def test_what_counts_as_a_command(text: str, words: list[tuple[str, ...]]) -> None:
    assert [shown.words for shown in commands_in(text, name="x")] == words


def test_a_command_that_is_none_does_not_parse() -> None:
    for words in (
        ("drfit",),
        ("drift", "--archs", "x"),
        ("stack", "lsit"),
        ("drift", "--format", "yml"),
        ("port", "1", "2"),
    ):
        with pytest.raises(click.UsageError):
            parse(words)


@pytest.fixture(scope="module")
def _ready(_first_history: MiniHistory, tmp_path_factory: pytest.TempPathFactory) -> MiniHistory:
    """The miniature fork with a map, a baseline and one port."""
    folder = tmp_path_factory.mktemp("documented")
    history = copy_of(_first_history, folder)
    desk = folder / "desk"
    desk.mkdir()
    for words in (
        ("init", "--fork", "../fork", "--arch", "heron", "--arch", "otter"),
        ("port", "201"),
        ("drift", "--all", "--write-baseline"),
    ):
        assert forkguard(*words, cwd=desk).status == 0
    defaults = '\n[defaults]\narchs = ["heron"]\n'
    (desk / "upstream-map.toml").write_text((desk / "upstream-map.toml").read_text() + defaults)
    return history


@pytest.fixture
def desk(_ready: MiniHistory, tmp_path: Path) -> Path:
    copy_of(_ready, tmp_path)
    shutil.copytree(_ready.fork.path.parent / "desk", tmp_path / "desk")
    return tmp_path / "desk"


def runnable() -> list[tuple[str, ...]]:
    """The commands that the miniature can run, each once, with its names in place of those of the docs."""
    found: dict[tuple[str, ...], None] = {}
    for shown in SHOWN:
        line = " ".join(shown.words)
        if not line.startswith(_VERBS_THAT_RUN) or set(_NOT_HERE) & set(shown.words) or shown.words in _INCOMPLETE:
            continue
        words = tuple(_OF_THE_MINIATURE.get(word, word) for word in shown.words)
        found[words if words[0] != "init" else (*words, "--force")] = None
    return list(found)


@pytest.mark.parametrize("words", runnable(), ids=" ".join)
def test_it_runs(words: tuple[str, ...], desk: Path) -> None:
    if words[0] == "port" and "--dry-run" not in words:
        assert forkguard("stack", "drop", "201", cwd=desk).status == 0
    outcome = forkguard(*words, cwd=desk)
    assert outcome.status in {0, 1}, f"{outcome.err}\nwhat the miniature cannot have is named in _NOT_HERE"
    assert outcome.out or "--output" in words
