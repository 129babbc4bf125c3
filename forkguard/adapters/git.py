"""Git behind named functions. GitPython spawns git; the environment and the options are ours.

Reading only: nothing here writes to a repository (`forkguard.adapters.worktrees` does, in its own places).
Questions are asked in batches: one process per question, never one per line, path or commit.
"""

import difflib
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from forkguard.adapters.gitpython import git
from forkguard.adapters.rawlogs import RawLogs
from forkguard.adapters.system import install_command
from forkguard.core.commits import Commit
from forkguard.core.history import parse_blame
from forkguard.core.names import BlobHash, CommitHash, RefName, TreePath, check_ref
from forkguard.core.trees import Tree, TreeEntry
from forkguard.errors import CouldNotWork, MissingObject, ProcessFailed, TimedOut, UnknownRef, UsageProblem

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


class GitRepository:
    """One repository, seen together with the objects of others (`alternates`: their object folders).

    `work_tree` is the folder that is checked out, resolved; None for a bare repository. `raw_logs` keeps what
    `raw_log` answered. Use it in a `with`, so
    that no git process outlives the work.
    """

    def __init__(self, path: Path, *, alternates: Sequence[Path] = (), raw_logs: RawLogs | None = None) -> None:
        self.path = path
        self._raw_logs = raw_logs
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

    # -- the door ------------------------------------------------------------------------------------

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
        with tempfile.TemporaryFile() as feed:
            if isinstance(stdin, bytes):
                feed.write(stdin)
                feed.seek(0)
            shell = git.Git(str(cwd)) if cwd else self._shell
            try:
                status, stdout, stderr = shell.execute(
                    command,
                    istream=feed if stdin is None or isinstance(stdin, bytes) else stdin,
                    with_extended_output=True,
                    with_exceptions=False,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                    kill_after_timeout=timeout,
                    env=environment,
                )
            except git.GitCommandNotFound as error:
                raise _no_git() from error
        out, err = _as_bytes(stdout), _as_text(stderr)
        if status == _NOT_FOUND and shutil.which("git") is None:
            raise _no_git()
        if status < 0 and err.startswith("Timeout:"):
            raise TimedOut(f"git {arguments[0]} did not end within {timeout:g} s", where=str(self.path))
        if status not in allowed:
            self._explain(arguments, status, err)
        return status, out, err

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
        raise ProcessFailed(("git", *arguments), status=status, stderr=err, cwd=str(self.path))

    # -- names and commits ---------------------------------------------------------------------------

    def resolve(self, name: str) -> CommitHash:
        """The commit that a revision names. Raises `UnknownRef`."""
        ref: RefName = check_ref(name)
        status, out, _ = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", allowed=(0, 1, 128)
        )
        if status:
            raise UnknownRef(
                f"{name!r} names no commit in this repository",
                where=str(self.path),
                hint=self._proposal(name)
                or f"git -C {shlex.quote(str(self.path))} branch --all  lists what there is",
            )
        return CommitHash(out.decode().strip())

    def _proposal(self, name: str) -> str:
        """The ref that is named almost like `name`, as a question; "" where there is none."""
        prefixes = ("refs/heads/", "refs/remotes/", "refs/tags/")
        known = [ref.removeprefix(prefix) for prefix in prefixes for ref in self.refs(prefix)]
        near = difflib.get_close_matches(name, [ref for ref in known if not ref.endswith("/HEAD")], n=1)
        return f"did you mean {near[0]}?" if near else ""

    def current_branch(self) -> str | None:
        """The branch that is checked out, by its short name; None when HEAD is detached."""
        status, out, _ = self.run("symbolic-ref", "--quiet", "--short", "HEAD", allowed=(0, 1))
        return out.decode().strip() if status == 0 else None

    def symbolic_ref(self, name: str) -> str | None:
        """The full name of the ref that a symbolic ref points at; None where there is none such."""
        status, out, _ = self.run("symbolic-ref", "--quiet", name, allowed=(0, 1, 128))
        return out.decode().strip() if status == 0 else None

    def remotes(self) -> dict[str, str]:
        """The remotes by name, with the URL that each fetches from."""
        status, out, _ = self.run("config", "--get-regexp", "-z", r"^remote\..*\.url$", allowed=(0, 1))
        found = {}
        for record in out.decode("utf-8", "replace").split("\0")[: None if status == 0 else 0]:
            key, _, url = record.partition("\n")
            if key:
                found[key.removeprefix("remote.").removesuffix(".url")] = url
        return found

    def user_name(self) -> str | None:
        """`user.name` of the user's git configuration for this repository, None where there is none."""
        _, out, _ = self.run("config", "--get", "user.name", allowed=(0, 1))
        return out.decode("utf-8", "replace").strip() or None

    def refs(self, *prefixes: str) -> dict[str, CommitHash]:
        """Every ref under the prefixes (all without any), with the object that it points at."""
        _, out, _ = self.run("for-each-ref", "--format=%(refname) %(objectname)", *prefixes)
        pairs = (line.split(" ", 1) for line in out.decode().splitlines())
        return {name: CommitHash(commit) for name, commit in pairs}

    def is_shallow(self) -> bool:
        """Whether the clone's history was cut (`--depth`)."""
        return (self.git_dir / "shallow").exists()

    def merge_base(self, one: CommitHash, other: CommitHash) -> CommitHash | None:
        """The best common ancestor, or None where the histories share nothing."""
        status, out, _ = self.run("merge-base", one, other, allowed=(0, 1))
        return CommitHash(out.decode().split()[0]) if status == 0 else None

    def is_ancestor(self, ancestor: CommitHash, commit: CommitHash) -> bool:
        """Whether `commit` descends from `ancestor` (or is it)."""
        return self.run("merge-base", "--is-ancestor", ancestor, commit, allowed=(0, 1))[0] == 0

    def count(self, since: CommitHash, until: CommitHash) -> int:
        """How many commits `until` has that `since` has not."""
        return int(self.run("rev-list", "--count", f"{since}..{until}")[1])

    def commits(self, ids: Iterable[CommitHash]) -> dict[CommitHash, Commit]:
        """What is known of each commit, in one question."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        _, out, _ = self.run(
            "log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%aI%x00%s%x00",
            stdin="\n".join(wanted).encode() + b"\n",
        )  # fmt: skip
        fields = out.decode("utf-8", "replace").split("\0")
        rows = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        found = (Commit(CommitHash(id_.strip()), date, subject) for id_, date, subject in rows)
        return {commit.id: commit for commit in found}

    def history(self, revisions: Sequence[str], *, paths: Sequence[str] = ()) -> tuple[Commit, ...]:
        """The commits that `git log` walks for the revisions, newest first, touching `paths` if any."""
        _, out, _ = self.run("log", "--format=%H%x00%aI%x00%s%x00", *revisions, "--", *paths)
        fields = out.decode("utf-8", "replace").split("\0")
        rows = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        return tuple(Commit(CommitHash(id_.strip()), date, subject) for id_, date, subject in rows)

    def messages(self, revisions: Sequence[str]) -> tuple[tuple[Commit, str], ...]:
        """The commits that `git log` walks, newest first, each with the body of its message."""
        _, out, _ = self.run("log", "--format=%H%x00%aI%x00%s%x00%b%x00", *revisions, "--")
        fields = out.decode("utf-8", "replace").split("\0")
        rows = zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False)
        return tuple((Commit(CommitHash(id_.strip()), date, subject), body) for id_, date, subject, body in rows)

    def line_log(self, commit: CommitHash, path: TreePath, *, first: int, last: int, most: int) -> tuple[Commit, ...]:
        """The newest commits (`most` of them) that changed these lines of a file as it is in `commit`."""
        words = ("-s", "--no-ext-diff", "--no-textconv", f"-n{most}", f"-L{first},{last}:{path}")
        _, out, _ = self.run("log", *words, "--format=%H%x00%aI%x00%s%x00", commit)
        fields = out.decode("utf-8", "replace").split("\0")
        rows = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        return tuple(Commit(CommitHash(id_.strip()), date, subject) for id_, date, subject in rows)

    def introductions(self, names: Sequence[str], since: CommitHash, until: CommitHash) -> str:
        """`git log -p` of the commits in between that add or remove lines with one of the identifiers, oldest first.

        Each commit is headed by a line `commit <hash>`; there is no context.
        """
        pattern = "(" + "|".join(names) + ")"
        _, out, _ = self.run(
            "log", "-p", "-U0", "--reverse", "--topo-order", "--no-color", "--no-ext-diff", "--no-textconv",
            "--no-merges", f"-G{pattern}", "--format=commit %H", f"{since}..{until}", "--",
        )  # fmt: skip
        return out.decode("utf-8", "replace")

    def mentions(self, text: str, *, until: CommitHash) -> tuple[Commit, ...]:
        """The commits up to `until` whose message holds `text`, newest first."""
        return self.history(["--fixed-strings", f"--grep={text}", until])

    # -- trees and blobs -----------------------------------------------------------------------------

    def tree(self, commit: CommitHash, *, under: Sequence[str] = ()) -> Tree:
        """The files of a commit by path (below `under` if given)."""
        _, out, _ = self.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *under)
        entries: dict[TreePath, TreeEntry] = {}
        for record in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            meta, path = record.split("\t", 1)
            mode, _, blob = meta.split(" ")
            entries[TreePath(path)] = TreeEntry(mode, BlobHash(blob))
        return entries

    def blobs(self, ids: Iterable[BlobHash]) -> dict[BlobHash, bytes]:
        """The contents of blobs, in one question. Raises `MissingObject` naming the first that is not there."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        feed = "\n".join(wanted).encode() + b"\n"
        _, out, _ = self.run("cat-file", "--batch", "--buffer", stdin=feed)
        found: dict[BlobHash, bytes] = {}
        at = 0
        while at < len(out):
            end = out.index(b"\n", at)
            words = out[at:end].decode().split(" ")
            if words[1] == "missing":
                raise MissingObject(
                    f"the blob {words[0]} is not in this clone (a partial or damaged one)",
                    where=str(self.path),
                    hint=f"git -C {shlex.quote(str(self.path))} fetch --refetch --no-filter"
                    "  (or clone again without --filter)",
                )
            size = int(words[2])
            found[BlobHash(words[0])] = out[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        return found

    def raw_log(self, commit: CommitHash, *, since: CommitHash | None = None) -> str:
        """The first-parent history of a commit, newest first: a line `commit <hash>`, then `git log --raw` lines.

        With `since`, only what came after that commit. Each of those lines is
        `:oldmode newmode oldblob newblob status<TAB>path`, against the first parent.
        """
        kept = self._raw_logs.get(commit) if self._raw_logs is not None and since is None else None
        out = kept if kept is not None else self._ask_raw_log(f"{since}..{commit}" if since else commit)
        if self._raw_logs is not None and since is None and kept is None:
            self._raw_logs.put(commit, out)
        return out.decode("utf-8", "surrogateescape")

    def _ask_raw_log(self, revisions: str) -> bytes:
        _, out, _ = self.run(
            "log", "--raw", "--no-abbrev", "--no-renames", "--first-parent", "--diff-merges=first-parent",
            "--format=commit %H", revisions,
        )  # fmt: skip
        return out

    # -- changes by content --------------------------------------------------------------------------

    def own_commits(self, since: CommitHash, until: CommitHash, *, trailer: str) -> list[tuple[Commit, str | None]]:
        """The commits in between that are no merges, newest first, each with the value of its trailer."""
        form = f"%H%x00%aI%x00%s%x00%(trailers:key={trailer},valueonly,separator=%x2C)%x00"
        _, out, _ = self.run("log", "--no-merges", f"--format={form}", f"{since}..{until}", "--")
        fields = out.decode("utf-8", "replace").split("\0")
        rows = zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False)
        return [(Commit(CommitHash(id_.strip()), day, text), value.strip() or None) for id_, day, text, value in rows]

    def patch_ids(self, since: CommitHash, until: CommitHash) -> dict[CommitHash, str]:
        """`git patch-id` of each commit in between that has one parent and changes something."""
        _, out, _ = self.run(
            "log", "-p", "-U3", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
            "--min-parents=1", "--max-parents=1", "--format=commit %H", f"{since}..{until}", "--",
        )  # fmt: skip
        return self._patch_ids(out)

    def patch_ids_of(self, mails: Mapping[CommitHash, bytes]) -> dict[CommitHash, str]:
        """`git patch-id` of patches in mail form; the keys are ids of the caller's choice, 40 hexadecimal digits."""
        blocks = (b"commit %s\n%s\n" % (key.encode(), _from_diff(mail)) for key, mail in mails.items())
        return self._patch_ids(b"".join(blocks))

    def _patch_ids(self, diffs: bytes) -> dict[CommitHash, str]:
        _, out, _ = self.run("patch-id", "--stable", stdin=diffs)
        pairs = (line.split(" ", 1) for line in out.decode().splitlines())
        return {CommitHash(commit): patch_id for patch_id, commit in pairs}

    # -- history of lines ----------------------------------------------------------------------------

    def blame(
        self, since: CommitHash | None, until: CommitHash, path: TreePath, spans: Sequence[tuple[int, int]]
    ) -> dict[int, CommitHash | None]:
        """Who brought each line of `path` at `until`: line number (from 1) to commit, None for `since` and older.

        `spans` are first and last lines, both included. Without `since` the whole history is asked.
        """
        ranges = [word for first, last in spans for word in ("-L", f"{first},{last}")]
        _, out, _ = self.run(
            "blame",
            "--no-textconv",
            "-w",
            "--porcelain",
            *([] if since else ["--root"]),
            *ranges,
            f"{since}..{until}" if since else until,
            "--",
            path,
        )
        return parse_blame(out.decode("utf-8", "replace"))

    def patches(self, since: CommitHash | None, until: CommitHash, paths: Sequence[str]) -> str:
        """`git log -p` of the commits in between that touch the paths, newest first, without context.

        Without `since` the whole history is asked.

        Each commit is headed by a line `commit <hash>`; merges are shown against their first parent.
        """
        if not paths:
            return ""
        _, out, _ = self.run(
            "log", "-p", "-U0", "--no-ext-diff", "--no-textconv", "--diff-merges=first-parent", "--format=commit %H",
            f"{since}..{until}" if since else until, "--", *paths,
        )  # fmt: skip
        return out.decode("utf-8", "replace")


def _from_diff(mail: bytes) -> bytes:
    """A mail from its first diff on: its message may hold lines that `git patch-id` would take for another patch."""
    at = mail.find(b"\ndiff --git ")
    return mail[at + 1 :] if at >= 0 else b""


def _no_git() -> CouldNotWork:
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
    """The subcommand, behind settings of one call.

    >>> _verb(("-c", "a.b=c", "fetch", "-c"))
    'fetch'
    """
    words = list(arguments)
    while words[0] == "-c" and len(words) > 2:
        words = words[2:]
    return words[0]


def _unset(ours: Mapping[str, str]) -> list[str]:
    """Words in front of git that unset the `GIT_*` variables which a hook or a shell left us.

    GitPython gives its child our whole environment; this takes out what could steer git elsewhere.
    """
    strange = _strange(ours)
    return ["env", *(word for name in strange for word in ("-u", name))] if strange else []


def _as_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    raise UsageProblem(f"git gave {type(value).__name__} instead of bytes")


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
