"""What a replay reads of the fork's objects and the commits that it makes, a handful of git processes in all."""

import contextlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.core.commit_objects import IDENTITY
from forkguard.core.fitting import Version
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.replay import Touch
from forkguard.core.trees import TreeEntry, listed
from forkguard.errors import CouldNotWork, MissingObject

_NEW_BRANCH = b"refs/heads/replay"
_WAIT = 300.0

Step = tuple[bytes, bytes, Mapping[TreePath, Version | None]]
"""A commit to be made: raw author, message, the files that it writes."""


class ReplayStore:
    """The fork's objects (and upstream's, where it is another clone), with `home` as the place to stand.

    `home` is a bare repository of forkguard's own, as `forkguard.adapters.workbench.Workbench` makes it.
    """

    def __init__(self, repo: GitRepository, home: Path, env: Mapping[str, str]) -> None:
        self._repo = repo
        self._home = home
        self._env = dict(env)

    def _git(self, *words: str, stdin: bytes | None = None, allowed: Sequence[int] = (0,)) -> tuple[int, bytes]:
        status, out, _ = self._repo.run(*words, stdin=stdin, allowed=allowed, env=self._env, cwd=self._home)
        return status, out

    @contextlib.contextmanager
    def _writing(self, purpose: str) -> Iterator[None]:
        """Write branches of `home`, one run at a time; locks that a killed git left on them are removed."""
        with locked(self._home / "replay.lock", purpose=purpose, wait=_WAIT):
            for lock in (self._home / "refs/heads").rglob("*.lock"):
                lock.unlink(missing_ok=True)
            yield

    def entries(self, commit: CommitHash, paths: Iterable[TreePath]) -> dict[TreePath, TreeEntry]:
        """The files and folders at these paths, as far as the commit has them."""
        wanted = set(paths)
        if not wanted:
            return {}
        _, out = self._git("ls-tree", "-r", "-t", "-z", "--full-tree", commit)
        return {path: entry for path, entry in listed(out) if path in wanted}

    def contents(self, ids: Iterable[str]) -> dict[str, bytes | None]:
        """The contents of blobs by the id asked for (it may be abbreviated); None for what this clone lacks."""
        wanted = sorted({each for each in ids if each.strip("0")})
        found: dict[str, bytes | None] = dict.fromkeys(wanted)
        if not wanted:
            return found
        feed = "".join(f"{each}\n" for each in wanted).encode()
        _, out = self._git("cat-file", "--batch", "--buffer", stdin=feed)
        at = 0
        for each in wanted:
            end = out.index(b"\n", at)
            words = out[at:end].split(b" ")
            at = end + 1
            if len(words) == 3 and words[2].isdigit():
                size = int(words[2])
                found[each] = out[at : at + size] if words[1] == b"blob" else None
                at += size + 1
        return found

    def touches(self, since: CommitHash, until: CommitHash) -> tuple[Touch, ...]:
        """The first-parent line from `since` (left out) to `until`, oldest first, with what each commit changes."""
        _, out = self._git(
            "log", "--raw", "--no-abbrev", "--no-renames", "--first-parent", "--diff-merges=first-parent", "-z",
            "--reverse", "--format=commit %H", f"{since}..{until}", "--",
        )  # fmt: skip
        return parse_touches(out.decode("utf-8", "surrogateescape"))

    def patch_ids(self, commits: Sequence[CommitHash], *, backwards: bool = False) -> dict[CommitHash, str]:
        """`git patch-id` of single commits; `backwards`: of what would take each of them back."""
        if not commits:
            return {}
        # -R swaps the prefixes as well, and git patch-id looks at them.
        turned = ("-R", "--src-prefix=b/", "--dst-prefix=a/") if backwards else ()
        feed = "".join(f"{each}\n" for each in commits).encode()
        _, diffs = self._git(
            "diff-tree", "--stdin", "-p", "-U3", "--no-renames", "--full-index", "--no-color", "--root",
            "-r", "--diff-merges=first-parent", *turned, stdin=feed,
        )  # fmt: skip
        _, out = self._git("patch-id", "--stable", stdin=diffs)
        pairs = (line.split(" ", 1) for line in out.decode().splitlines())
        return {CommitHash(commit): patch_id for patch_id, commit in pairs}

    def range_diff(self, one: tuple[CommitHash, CommitHash], other: tuple[CommitHash, CommitHash]) -> str:
        """`git range-diff` of two ranges, each a base (left out) and a tip."""
        words = ("range-diff", "--no-color", "--creation-factor=80", "..".join(one), "..".join(other))
        return self._git(*words)[1].decode("utf-8", "replace")

    def bundle(self, base: CommitHash, tip: CommitHash, *, branch: str) -> bytes:
        """A git bundle of base..tip that carries it as the branch of this name."""
        ref = f"refs/heads/{branch}"
        with self._writing("making a bundle"):
            self._git("update-ref", ref, tip)
            return self._git("bundle", "create", "--quiet", "-", f"^{base}", ref)[1]

    def merge_file(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """git's three-way merge of one file; None where it conflicts."""
        with tempfile.TemporaryDirectory(prefix="forkguard-merge-") as folder:
            files = [Path(folder) / name for name in ("ours", "base", "theirs")]
            for file, content in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(content)
            status, out = self._git("merge-file", "-p", "-q", *map(str, files), allowed=range(256))
        return out if status == 0 else None

    def binary(self, section: bytes, path: TreePath, before: bytes | None) -> bytes | None:
        """What a binary patch makes of a file; None where it does not fit or carries no content."""
        with tempfile.TemporaryDirectory(prefix="forkguard-binary-") as folder:
            place = Path(folder)
            if before is not None:
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_bytes(before)
            status, _, _ = self._repo.run(
                "apply", "--no-index", "--whitespace=nowarn", "-", stdin=section, allowed=range(256), cwd=place,
                env={"GIT_DIR": str(self._home), "GIT_CEILING_DIRECTORIES": folder},
            )  # fmt: skip
            made = place / path
            return made.read_bytes() if status == 0 and made.is_file() and not made.is_symlink() else None

    def commit_series(self, onto: CommitHash, steps: Sequence[Step]) -> tuple[CommitHash, ...]:
        """Commits on top of `onto`, one per step: raw author, message, the files that it writes (None: removes)."""
        if not steps:
            return ()
        feed = [b"feature done\n", b"reset %s\n\n" % _NEW_BRANCH]
        for number, step in enumerate(steps, 1):
            feed += _import_commit(step, number=number, parent=onto if number == 1 else f":{number - 1}")
        feed.append(b"done\n")
        with (
            tempfile.TemporaryDirectory(prefix="forkguard-marks-") as folder,
            self._writing("making the commits of a replay"),
        ):
            marks = Path(folder) / "marks"
            self._git(
                "fast-import", "--quiet", "--force", "--date-format=raw", f"--export-marks={marks}",
                stdin=b"".join(feed),
            )  # fmt: skip
            pairs = (line.split(" ") for line in marks.read_text().splitlines())
            made = {int(mark.lstrip(":")): CommitHash(commit) for mark, commit in pairs}
        if len(made) != len(steps):
            raise CouldNotWork("git fast-import did not make every commit", where=str(self._home))
        return tuple(made[number] for number in range(1, len(steps) + 1))


def _import_commit(step: Step, *, number: int, parent: str) -> list[bytes]:
    author, message, files = step
    committed = b" ".join(author.rsplit(b" ", 2)[1:])
    feed = [
        b"commit %s\nmark :%d\n" % (_NEW_BRANCH, number),
        b"author %s\ncommitter %s %s\n" % (author, IDENTITY, committed),
        b"data %d\n%s\n" % (len(message), message),
        b"from %s\n" % parent.encode(),
    ]
    for path, version in sorted(files.items(), key=lambda pair: pair[1] is not None):
        if version is None:
            feed.append(b"D %s\n" % _quoted(path))
        elif version.content is None:
            raise MissingObject("a file of the result is not in this clone", where=path)
        else:
            feed.append(b"M %s inline %s\ndata %d\n" % (version.mode.encode(), _quoted(path), len(version.content)))
            feed += [version.content, b"\n"]
    return feed


def _quoted(path: TreePath) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    escaped = re.sub(rb'[\\"]', lambda found: b"\\" + found[0], raw).replace(b"\n", b"\\n")
    return b'"%s"' % escaped


def parse_touches(log: str) -> tuple[Touch, ...]:
    r"""Read `git log --raw -z --format=commit %H`.

    >>> parse_touches("commit aa\0\0:100644 100644 b1 b2 M\0x.c\0")
    (Touch(commit='aa', paths={'x.c': ('100644', 'b2')}),)
    """
    found: list[Touch] = []
    words = iter(log.split("\0"))
    for word in words:
        text = word.lstrip("\n")
        if text.startswith("commit "):
            found.append(Touch(CommitHash(text[7:].strip())))
        elif text.startswith(":") and found:
            _, mode, _, blob, status = text.removeprefix(":").split(" ")
            path = TreePath(next(words))
            found[-1].paths[path] = None if status.startswith("D") else (mode, blob)
    return tuple(found)
