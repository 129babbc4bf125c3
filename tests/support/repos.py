"""Real git repositories for tests: fixed clock and identity, no configuration of the machine's user.

`mini_history(folder)` makes an upstream in the shape of llama.cpp and a fork of it; see `tests.support.mini_llama`.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support import mini_llama

FIRST_DAY = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def frozen_environment(home: Path | None = None) -> dict[str, str]:
    """An environment in which git knows nothing of this machine's user and answers in one language."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home or "/nonexistent"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada Otter",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada Otter",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "TZ": "UTC",
    }


@dataclass
class GitFolder:
    """One repository; each commit is an hour later than the one before, so ids are the same in every run."""

    path: Path
    clock: datetime = FIRST_DAY
    environment: dict[str, str] = field(default_factory=frozen_environment)

    def git(self, *words: str, stdin: str | None = None, check: bool = True) -> str:
        """What git prints for this command, without the last line end; a failure raises with git's own words."""
        stamp = self.clock.isoformat()
        done = subprocess.run(
            ["git", "-C", str(self.path), *words],
            env=self.environment | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp},
            input=stdin, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(words)}: {done.stderr}")
        return done.stdout.rstrip("\n")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Put files into the work tree."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(
        self, subject: str, files: Mapping[str, str | bytes] | None = None, *, removed: tuple[str, ...] = ()
    ) -> str:
        """Write and remove files, commit everything, and return the commit's id."""
        self.clock += timedelta(hours=1)
        self.write(files or {})
        for name in removed:
            (self.path / name).unlink()
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def text(self, name: str, *, ref: str = "HEAD") -> str:
        """A file's content at a ref."""
        return self.git("show", f"{ref}:{name}")

    def snapshot(self) -> dict[str, object]:
        """Everything of the user's that forkguard must leave alone: refs, HEAD, index, config and files.

        Refs under `refs/heads/forkguard/` and `refs/forkguard/` are forkguard's own and left out.
        """
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        git_dir = self.path / self.git("rev-parse", "--git-dir")
        files = {
            str(path.relative_to(self.path)): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and not path.is_relative_to(git_dir)
        }
        return {
            "refs": [ref for ref in refs if not ref.startswith(("refs/heads/forkguard/", "refs/forkguard/"))],
            "head": (git_dir / "HEAD").read_text(),
            "index": (git_dir / "index").read_bytes() if (git_dir / "index").exists() else b"",
            "config": (git_dir / "config").read_bytes(),
            "files": files,
        }


def new_repository(path: Path, *, branch: str = "master") -> GitFolder:
    """An empty repository."""
    path.mkdir(parents=True)
    folder = GitFolder(path)
    folder.git("init", "-q", "-b", branch)
    return folder


def clone(source: GitFolder, path: Path, *options: str, remote: str = "upstream") -> GitFolder:
    """A clone over the file protocol, with the source as the remote of this name."""
    subprocess.run(
        ["git", "clone", "-q", "-o", remote, *options, f"file://{source.path}", str(path)],
        env=frozen_environment(), capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return GitFolder(path, clock=source.clock + timedelta(days=1))


@dataclass
class MiniHistory:
    """An upstream and a fork of it.

    Upstream's `master`: two old commits, `base` (#103), then `port` (#201: draft support for heron), `after`
    (#202, a remark in sketch) and `tip` (#205 carried in by #206). The fork's branch `production` is `base` and
    two commits of its own; its remote `upstream` is fetched.
    """

    upstream: GitFolder
    fork: GitFolder
    base: str
    port: str
    after: str
    tip: str
    own: tuple[str, str]


def mini_history(folder: Path) -> MiniHistory:
    """Make both repositories in `folder/upstream` and `folder/fork`."""
    tree = mini_llama.base_tree()
    upstream = new_repository(folder / "upstream")
    first = {name: text for name, text in tree.items() if "sketch" not in name}
    upstream.commit("Lay out the machine (#101)", first)
    upstream.commit("sketch : a draft arch (#102)", {"src/models/sketch.cpp": tree["src/models/sketch.cpp"]})
    base = upstream.commit("docs : say more (#103)", {"README.md": tree["README.md"] + "that runs anywhere\n"})
    port = upstream.commit("heron : support drafts (#201)", mini_llama.draft_support())
    sketch = tree["src/models/sketch.cpp"]
    after = upstream.commit("sketch : explain (#202)", {"src/models/sketch.cpp": "// a draft arch\n" + sketch})
    tip = upstream.commit("sketch : second form (#205) (#206)", {"src/models/sketch.cpp": "// two forms\n" + sketch})
    fork = make_fork(upstream, folder / "fork", base=base)
    own = fork.git("rev-list", "--reverse", f"{base}..production").splitlines()
    return MiniHistory(upstream, fork, base=base, port=port, after=after, tip=tip, own=(own[0], own[1]))


def copy_of(history: MiniHistory, folder: Path) -> MiniHistory:
    """The same history in another folder, its fork's remote there too; much quicker than making it."""
    copies = []
    for original in (history.upstream, history.fork):
        shutil.copytree(original.path, folder / original.path.name, symlinks=True)
        copies.append(GitFolder(folder / original.path.name, clock=original.clock))
        copies[-1].git("update-index", "-q", "--refresh")
    upstream, fork = copies
    fork.git("remote", "set-url", "upstream", f"file://{upstream.path}")
    return replace(history, upstream=upstream, fork=fork)


def make_fork(upstream: GitFolder, path: Path, *, base: str) -> GitFolder:
    """A clone whose branch `production` is `base` and two commits of the fork's own, one of them in otter.cpp."""
    fork = clone(upstream, path)
    fork.git("checkout", "-q", "--no-track", "-b", "production", base)
    fork.git("branch", "-q", "-D", "master")
    fork.commit("ours: a service file", {"deploy/server.service": "[Service]\nExecStart=llama-server\n"})
    otter = (path / "src/models/otter.cpp").read_text()
    fork.commit("ours: name otter's output", {"src/models/otter.cpp": otter.replace('"l_out"', '"layer_out"')})
    return fork
