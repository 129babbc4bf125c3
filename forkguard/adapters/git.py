"""Git behind named functions, each of which asks one question through the door (`forkguard.adapters.git_door`).

Reading only: nothing here writes to a repository (`forkguard.adapters.worktrees` does, in its own places).
Questions are asked in batches: one process per question, never one per line, path or commit.
"""

import difflib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from forkguard.adapters.git_door import GitDoor
from forkguard.adapters.rawlogs import RawLogs
from forkguard.core.commits import Commit
from forkguard.core.history import parse_blame
from forkguard.core.names import BlobHash, CommitHash, RefName, TreePath, check_ref
from forkguard.core.trees import Tree, listed
from forkguard.errors import MissingObject, UnknownRef


class GitRepository(GitDoor):
    """What is asked of a repository. `raw_logs` keeps what `raw_log` answered."""

    def __init__(self, path: Path, *, alternates: Sequence[Path] = (), raw_logs: RawLogs | None = None) -> None:
        super().__init__(path, alternates=alternates)
        self._raw_logs = raw_logs

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
            "log", "--no-walk=unsorted", "--stdin", _commit_form(),
            stdin="\n".join(wanted).encode() + b"\n",
        )  # fmt: skip
        return {commit.id: commit for commit, _ in _read_commits(out)}

    def history(self, revisions: Sequence[str], *, paths: Sequence[str] = ()) -> tuple[Commit, ...]:
        """The commits that `git log` walks for the revisions, newest first, touching `paths` if any."""
        _, out, _ = self.run("log", _commit_form(), *revisions, "--", *paths)
        return tuple(commit for commit, _ in _read_commits(out))

    def messages(self, revisions: Sequence[str]) -> tuple[tuple[Commit, str], ...]:
        """The commits that `git log` walks, newest first, each with the body of its message."""
        _, out, _ = self.run("log", _commit_form("%b"), *revisions, "--")
        return tuple(_read_commits(out))

    def line_log(self, commit: CommitHash, path: TreePath, *, first: int, last: int, most: int) -> tuple[Commit, ...]:
        """The newest commits (`most` of them) that changed these lines of a file as it is in `commit`."""
        words = ("-s", "--no-ext-diff", "--no-textconv", f"-n{most}", f"-L{first},{last}:{path}")
        _, out, _ = self.run("log", *words, _commit_form(), commit)
        return tuple(commit for commit, _ in _read_commits(out))

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
        return dict(listed(out))

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
        """The commits in between that are no merges, newest first, none before its child, each with its trailer."""
        form = _commit_form(f"%(trailers:key={trailer},valueonly,separator=%x2C)")
        _, out, _ = self.run("log", "--date-order", "--no-merges", form, f"{since}..{until}", "--")
        return [(commit, value.strip() or None) for commit, value in _read_commits(out)]

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


def _commit_form(more: str = "") -> str:
    """The words by which `git log` writes commits for `_read_commits`, each with one more value."""
    return f"--format=%H%x00%aI%x00%s%x00{more}%x00"


def _read_commits(out: bytes) -> Iterator[tuple[Commit, str]]:
    """The commits that `git log` wrote in that form, each with the value.

    A date in UTC ends in +00:00, also where a newer git writes Z: reports do not tell which git is here.
    """
    fields = out.decode("utf-8", "replace").split("\0")
    for id_, written, subject, value in zip(fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False):
        date = f"{written[:-1]}+00:00" if written.endswith("Z") else written
        yield Commit(CommitHash(id_.strip()), date, subject), value


def _from_diff(mail: bytes) -> bytes:
    """A mail from its first diff on: its message may hold lines that `git patch-id` would take for another patch."""
    at = mail.find(b"\ndiff --git ")
    return mail[at + 1 :] if at >= 0 else b""
