"""Wiring for `forkguard doctor`: the looks at the machine, and those at a project as far as it can be opened."""

import contextlib
import os
import platform
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from forkguard.adapters.archives import find_pip
from forkguard.adapters.cmake import CMake
from forkguard.adapters.git import GitRepository
from forkguard.adapters.journals import JournalFile
from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.adapters.surroundings import (
    at_work,
    free_bytes,
    missing_objects,
    require_writable,
    version_text,
    who_else_writes,
)
from forkguard.adapters.system import install_command
from forkguard.cli import clock
from forkguard.cli.compose import (
    FORK_VARIABLE,
    STATE_NAME,
    cache_folder,
    fork_path,
    fork_side_of,
    other_clone,
    trees_folder,
    upstream_side_of,
)
from forkguard.cli.compose_init import remote_side
from forkguard.cli.compose_port import TOKEN_VARIABLE
from forkguard.cli.refusals import (
    refuse_cache_inside_fork,
    refuse_inside_fork,
    refuse_links_into_fork,
    refuse_shallow,
)
from forkguard.core.build_profiles import DEFAULT_PROFILE, Profile, choose_profile
from forkguard.core.doctor import (
    OLDEST_GIT,
    OLDEST_PYTHON,
    Check,
    Level,
    judge_age,
    judge_disk,
    judge_version,
    needing,
)
from forkguard.core.mapfile import UpstreamMap
from forkguard.errors import CouldNotWork, ForkguardError
from forkguard.reports.plain import counted
from forkguard.workflows.doctor import Look

if TYPE_CHECKING:
    from forkguard.core.findings import Side

_TOKEN_WHY = "with one, GitHub answers more than 60 questions an hour, and about private repositories"  # noqa: S105


class Examination:
    """What is looked at, in order. What one look finds (the map, the fork) the later ones work on."""

    def __init__(
        self,
        *,
        map_file: Path | None,
        fork: Path | None,
        fork_ref: str | None,
        upstream_ref: str | None,
        verbs: tuple[str, ...],
        stack: contextlib.ExitStack,
    ) -> None:
        self._named = (map_file, fork, fork_ref, upstream_ref)
        self._verbs = verbs
        self._stack = stack
        self._map: UpstreamMap | None = None
        self._map_path: Path | None = None
        self._fork: GitRepository | None = None
        self._other: GitRepository | None = None
        self._fork_side: Side | None = None
        self._upstream: Side | None = None

    def looks(self) -> tuple[Look, ...]:
        """All looks. Those at the fork stand on the fork that the map or the command line names."""
        with contextlib.suppress(ForkguardError):
            self._read_map()
        return (*self._machine(), *self._project())

    # -- the machine ---------------------------------------------------------------------------------

    def _machine(self) -> tuple[Look, ...]:
        return (
            Look("python", self._python),
            Look("git", self._git),
            *self._build_tools(),
            Look("disk", self._disk),
            Look("cache folder", self._cache),
            Look("pip", lambda: " ".join(find_pip())),
            Look("ssh-keygen", self._ssh_keygen),
            Look("token", self._token),
        )

    def _python(self) -> Check:
        fix = "install a newer Python, then forkguard for it: pipx install --python python3.12 forkguard"
        verbs = needing("python", self._verbs)
        return judge_version("python", platform.python_version(), oldest=OLDEST_PYTHON, fix=fix, needed_for=verbs)

    def _git(self) -> Check:
        fix = f"{install_command('git')}  (or a newer one: https://git-scm.com/downloads)"
        verbs = needing("git", self._verbs)
        return judge_version("git", version_text("git"), oldest=OLDEST_GIT, fix=fix, needed_for=verbs)

    def _build_tools(self) -> tuple[Look, ...]:
        tools = CMake(self._cache_folder())
        profile = self._profile(tools)
        return tuple(
            Look(what, lambda what=what, names=names, found=found: self._tool(what, names, found))  # type: ignore[misc]
            for what, names, found in tools.tools(profile)
        )

    def _profile(self, tools: CMake) -> Profile:
        table = self._map.gate if self._map else None
        name = (table.profile if table else None) or DEFAULT_PROFILE
        with contextlib.suppress(ForkguardError):
            return choose_profile(name, self._map.build if self._map else {}, tools.machine())
        return choose_profile(DEFAULT_PROFILE, {}, tools.machine())

    def _tool(self, what: str, names: tuple[str, ...], found: str | None) -> str | Check:
        if found is not None:
            return found
        lacking = f"{' or '.join(names)} is not on PATH"
        if what == "ccache":
            why = "without it every new tree is compiled from nothing"
            return Check(what, Level.NOTE, lacking, why=why, fix=install_command(what))
        raise CouldNotWork(lacking, hint=install_command(what))

    def _disk(self) -> Check:
        places = {str(place): free_bytes(place) for place in (self._trees_folder(), self._cache_folder())}
        where = min(places, key=lambda place: places[place])
        return judge_disk(places[where], where=where, needed_for=needing("disk", self._verbs))

    def _cache(self) -> str | Check:
        for folder in (self._trees_folder(), self._cache_folder()):
            require_writable(folder, hint="name other folders in [defaults] cache and trees, or set XDG_CACHE_HOME")
            if others := who_else_writes(folder):
                why = "programs that are gated are built there: who can write there chooses what runs here"
                fix = (
                    f"chmod go-w {shlex.quote(str(folder))}  (or name a folder of your own in [defaults] of the map)"
                )
                return Check("cache folder", Level.NOTE, others, why=why, where=str(folder), fix=fix)
        return str(self._cache_folder())

    def _ssh_keygen(self) -> str | Check:
        found = shutil.which("ssh-keygen")
        if found is not None:
            return found
        asked = self._map is not None and (self._map.gate.sign_key or self._map.gate.allowed_signers)
        level, verbs = (Level.MISSING, needing("ssh-keygen", self._verbs)) if asked else (Level.NOTE, ())
        fix = install_command("ssh-keygen")
        return Check("ssh-keygen", level, "it is not on PATH", verbs, "it signs receipts and checks them", fix=fix)

    def _token(self) -> str | Check:
        if os.environ.get(TOKEN_VARIABLE):
            return f"{TOKEN_VARIABLE} is set"
        fix = f"export {TOKEN_VARIABLE}=...  (one without any right is enough for a public repository)"
        return Check("token", Level.NOTE, f"{TOKEN_VARIABLE} is not set", why=_TOKEN_WHY, fix=fix)

    # -- the project ---------------------------------------------------------------------------------

    def _project(self) -> tuple[Look, ...]:
        looks = (
            Look("map", self._whole_map),
            Look("fork", self._open_fork, after=("git",) if self._fork_is_named() else ("git", "map")),
            Look("history", self._history, after=("fork",)),
            Look("production branch", self._branch, after=("fork",)),
            Look("upstream", self._open_upstream, after=("history", "production branch")),
            Look("upstream's age", self._age, after=("upstream",)),
        )
        if self._map is None:
            return looks
        state = (Look("state folder", self._state, after=("fork",)), Look("in progress", self._in_progress))
        return (*looks, *state, Look("at work", self._at_work))

    def _read_map(self) -> UpstreamMap:
        map_file = self._named[0]
        self._map_path = chosen_map(map_file)
        self._map = read_map(self._map_path)
        return self._map

    def _whole_map(self) -> str:
        return f"{self._map_path}, {counted(len(self._read_map().arch), 'arch')}"

    def _fork_is_named(self) -> bool:
        return self._map is not None or self._named[1] is not None or bool(os.environ.get(FORK_VARIABLE))

    def _open_fork(self) -> str:
        if self._map is not None and self._map_path is not None:
            path = fork_path(self._named[1], self._map, self._map_path)
        else:
            path = Path(os.path.normpath((self._named[1] or Path(os.environ[FORK_VARIABLE])).expanduser().absolute()))
        repo = self._stack.enter_context(GitRepository(path))
        refuse_cache_inside_fork((self._cache_folder(), self._trees_folder()), repo)
        self._fork = repo
        return str(path)

    def _opened(self) -> GitRepository:
        assert self._fork is not None  # noqa: S101  (looks at the fork come after it is open)
        return self._fork

    def _history(self) -> str:
        repo = self._opened()
        refuse_shallow(repo)
        lacking = missing_objects(repo)
        if lacking:
            raise CouldNotWork(
                f"this clone is partial: {lacking} objects of its history are not here",
                where=str(repo.path),
                hint=f"git -C {shlex.quote(str(repo.path))} fetch --refetch --no-filter",
            )
        return "whole"

    def _branch(self) -> str:
        ref = self._named[2] or (self._map.fork.ref if self._map else None)
        self._fork_side = fork_side_of(self._opened(), ref)
        return f"{self._fork_side.ref} at {self._fork_side.commit[:12]}"

    def _open_upstream(self) -> str:
        repo = self._opened()
        if self._map is None or self._map_path is None:
            branch = self._fork_side.ref if self._fork_side else ""
            _, why, self._upstream = remote_side(repo, None, self._named[3], branch=branch)
            return f"{self._upstream.ref}; {why}"
        self._other = other_clone(self._map, self._map_path)
        if self._other is not None:
            self._stack.enter_context(self._other)
        self._upstream = upstream_side_of(self._map, repo, self._other, self._named[3])
        return f"{self._upstream.ref} at {self._upstream.commit[:12]}"

    def _age(self) -> Check:
        assert self._upstream is not None  # noqa: S101  (comes after upstream)
        repo = self._other or self._opened()
        commit = repo.commits([self._upstream.commit])[self._upstream.commit]
        remote = self._upstream.ref.partition("/")[0]
        fix = f"git -C {shlex.quote(str(repo.path))} fetch" + (
            f" {shlex.quote(remote)}" if remote in repo.remotes() else ""
        )
        return judge_age(self._upstream.ref, date=commit.date, now=clock.now(), fix=fix)

    def _state(self) -> str:
        assert self._map_path is not None  # noqa: S101  (comes after the map)
        root = self._map_path.parent
        refuse_inside_fork(root, self._opened())
        refuse_links_into_fork(root, self._opened())
        require_writable(root, hint="move the map's folder to a place of your own")
        return require_writable(root / STATE_NAME, hint=f"make {root / STATE_NAME} writable")

    def _in_progress(self) -> str | Check:
        assert self._map_path is not None  # noqa: S101  (comes after the map)
        journal = JournalFile(self._map_path.parent / STATE_NAME / "port.json").read()
        if journal is None:
            return "no port"
        found = f"the port {journal.patchset} stopped ({journal.phase.value})"
        fix = "forkguard port --continue  (or forkguard port --abort)"
        return Check("in progress", Level.NOTE, found, where=journal.worktree or "", fix=fix)

    def _at_work(self) -> str | Check:
        assert self._map_path is not None  # noqa: S101  (comes after the map)
        folders = (self._map_path.parent / STATE_NAME, self._trees_folder(), self._cache_folder())
        runs = at_work(*folders)
        if not runs:
            return "no other run"
        return Check(
            "at work", Level.NOTE, ", ".join(runs), why="a command that needs the same lock says so and ends"
        )

    def _cache_folder(self) -> Path:
        return cache_folder(self._map, self._map_path)

    def _trees_folder(self) -> Path:
        return trees_folder(self._map, self._map_path)
