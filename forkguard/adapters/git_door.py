"""The one door to a git repository: where it is, and one command at a time in it.

GitPython spawns git; the environment and the options are ours.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from forkguard.adapters import proc
from forkguard.adapters.gitpython import git
from forkguard.adapters.system import install_command
from forkguard.errors import CouldNotWork, MissingObject, ProcessFailed, TimedOut

GIT_TIMEOUT = 300.0
"""Seconds that one git question may take."""

_NOT_FOUND = 127
"""The status of `env` where the program that it is to start is not there."""

_SAFE_CONFIG = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.attributesFile=/dev/null",
    "commit.gpgSign=false",
    "diff.external=",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.algorithm=myers",
    "diff.renames=true",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_MISSING_SIGNS = (
    "unable to read",
    "missing blob",
    "could not fetch",
    "promisor",
    "bad object",
    "unable to parse",
    "failed to read object",
)


class GitDoor:
    """One repository, seen together with the objects of others (`alternates`: their object folders).

    `work_tree` is the folder that is checked out, resolved; None for a bare repository. Use it in a `with`, so that
    no git process outlives the work.
    """

    def __init__(self, path: Path, *, alternates: Sequence[Path] = ()) -> None:
        self.path = path
        self._alternates = tuple(alternates)
        self._shell = git.Git(str(path))
        if not path.is_dir():
            raise CouldNotWork("there is no folder at this path", where=str(path), hint="name it with --fork PATH")
        # Not git.Repo: it follows GIT_DIR and its like, which a hook or a shell may have left in our environment.
        status, out, err = self.run("rev-parse", "--git-common-dir", "--show-toplevel", allowed=(0, 128))
        places = out.decode("utf-8", "surrogateescape").splitlines()
        if not places:
            self._explain_no_repository(status, err)
        self.git_dir = (path / places[0]).resolve()
        self.work_tree = Path(places[1]).resolve() if status == 0 else None
        self._shell = git.Git(str(self.work_tree or path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shell.clear_cache()

    @property
    def objects(self) -> Path:
        """The folder of the repository's objects, as another repository's alternate."""
        return self.git_dir / "objects"

    def run(
        self,
        *arguments: str,
        stdin: bytes | BinaryIO | None = None,
        allowed: Sequence[int] = (0,),
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout: float = GIT_TIMEOUT,
    ) -> tuple[int, bytes, str]:
        """Run one git command; return its status, standard output and error text.

        `stdin` is what git reads: bytes, or a real file from its current place on.

        Raises `ProcessFailed` for a status that is not `allowed`, `MissingObject` where git says that an
        object is not there, `TimedOut`.
        """
        environment = dict(_ENVIRONMENT)
        if self._alternates:
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(str(p) for p in self._alternates)
        environment |= env or {}
        command = [*_unset(environment), *safe_words(*arguments)]
        shell = git.Git(str(cwd)) if cwd else self._shell
        with contextlib.ExitStack() as stack:
            reads = stack.enter_context(_file_of(stdin)) if isinstance(stdin, bytes) else stdin
            try:
                process = shell.execute(command, istream=reads, as_process=True, env=environment)
            except git.GitCommandNotFound as error:
                raise no_git() from error
            status, out, err = self._ended(process, _verb(arguments), timeout)
        if status == _NOT_FOUND and shutil.which("git") is None:
            raise no_git()
        if status not in allowed:
            self._explain(arguments, status, err)
        return status, out, err

    def _ended(self, process: git.Git.AutoInterrupt, verb: str, timeout: float) -> tuple[int, bytes, str]:
        """Status and both streams. A git that nobody waits for any more is asked to stop: it removes its locks."""
        child = process.proc
        if child is None:
            raise CouldNotWork(f"git {verb} was not started", where=str(self.path))
        with child:
            try:
                out, err = child.communicate(timeout=timeout)
            except subprocess.TimeoutExpired as error:
                raise TimedOut(f"git {verb} did not end within {timeout:g} s", where=str(self.path)) from error
            finally:
                proc.end(child)
        return child.returncode, out, err.decode("utf-8", "replace")

    def _explain_no_repository(self, status: int, err: str) -> None:
        if "not a git repository" not in err:
            self._explain(("rev-parse",), status, err)
        hint = "name the fork's clone with --fork PATH"
        raise CouldNotWork("this folder is no git repository", where=str(self.path), hint=hint)

    def _explain(self, arguments: tuple[str, ...], status: int, err: str) -> None:
        if "dubious ownership" in err:
            raise CouldNotWork(
                "git refuses this repository: another user owns it",
                where=str(self.path),
                hint=f"git config --global --add safe.directory {shlex.quote(str(self.path))}",
            )
        missing = [line for line in err.splitlines() if any(sign in line for sign in _MISSING_SIGNS)]
        if missing:
            raise MissingObject(
                f"git {_verb(arguments)} needs an object that this clone lacks: {missing[0]}",
                where=str(self.path),
                hint=f"git -C {shlex.quote(str(self.path))} fetch --refetch --no-filter"
                "  (or clone again without --filter and --depth)",
            )
        raise ProcessFailed(("git", *_without_settings(arguments)), status=status, stderr=err, cwd=str(self.path))


@contextlib.contextmanager
def _file_of(content: bytes) -> Iterator[BinaryIO]:
    """What git is to read, as a real file: a pipe would have to be fed while git writes."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file


def no_git() -> CouldNotWork:
    """What is raised where git is not on PATH."""
    return CouldNotWork("git is not installed: it is not on PATH", hint=install_command("git"))


def safe_words(*arguments: str) -> list[str]:
    """A git command in front of which our own configuration stands: no hook, filter or daemon of anybody runs."""
    return ["git", *(word for setting in _SAFE_CONFIG for word in ("-c", setting)), *arguments]


def safe_environment() -> dict[str, str]:
    """The environment for a git that its caller starts: ours, without the variables that could steer it elsewhere."""
    kept = {name: value for name, value in os.environ.items() if name not in _strange(_ENVIRONMENT)}
    return kept | _ENVIRONMENT


def _strange(ours: Mapping[str, str]) -> list[str]:
    kept = {*ours, "GIT_SSL_CAINFO", "GIT_SSH_COMMAND", "GIT_ASKPASS"}
    return [name for name in os.environ if name.startswith("GIT_") and name not in kept]


def _verb(arguments: Sequence[str]) -> str:
    return _without_settings(arguments)[0]


def _without_settings(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command without the settings of this one call, which tell nobody what went wrong.

    >>> _without_settings(("-c", "a.b=c", "fetch", "-c"))
    ('fetch', '-c')
    """
    words = tuple(arguments)
    while words[0] == "-c" and len(words) > 2:
        words = words[2:]
    return words


def _unset(ours: Mapping[str, str]) -> list[str]:
    """Words in front of git that unset the `GIT_*` variables which a hook or a shell left us.

    GitPython gives its child our whole environment; this takes out what could steer git elsewhere.
    """
    strange = _strange(ours)
    return ["env", *(word for name in strange for word in ("-u", name))] if strange else []
