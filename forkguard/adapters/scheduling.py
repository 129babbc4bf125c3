"""Units, a crontab and a workflow: checked by their own programs where these are installed, then written."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forkguard.adapters import proc
from forkguard.errors import CouldNotWork, ForkguardError

_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Checked:
    """What a validator said. `passed` is None where it is not installed; `said` is its complaint, or why not."""

    validator: str
    passed: bool | None
    said: str = ""


def check_units(units: Mapping[str, str]) -> Checked:
    """`systemd-analyze verify` on the units, as a user's."""
    return _check(("systemd-analyze", "verify", "--user", "--man=no", "--recursive-errors=no"), units)


def check_crontab(text: str) -> Checked:
    """Debian's `crontab -n`, else cronie's `crontab -T`; other crontabs cannot check."""
    for option in ("-n", "-T"):
        checked = _check(("crontab", option), {"crontab": text})
        if checked.passed is not False or not _is_usage(checked.said):
            return checked
    return Checked("crontab", None, "this crontab has no option to check a file")


def check_workflow(text: str) -> Checked:
    """`actionlint` on the workflow."""
    return _check(("actionlint", "-no-color"), {"forkguard-nightly.yml": text})


def _is_usage(said: str) -> bool:
    return "invalid option" in said or "usage" in said.lower()


def _check(words: tuple[str, ...], files: Mapping[str, str]) -> Checked:
    name = " ".join(word for word in words[:2] if not word.startswith("--") and word != "-no-color")
    if shutil.which(words[0]) is None:
        return Checked(name, None, f"{words[0]} is not installed")
    with tempfile.TemporaryDirectory(prefix="forkguard-check-") as folder:
        paths = [Path(folder) / file for file in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        try:
            # A user's units are checked in a place of their own: there may be no session, and so no such folder.
            env = proc.inherited_environment() | {"XDG_RUNTIME_DIR": folder}
            done = proc.run((*words, *paths), cwd=Path(folder), timeout=_TIMEOUT, env=env, allowed=range(256))
        except ForkguardError as error:
            return Checked(name, None, error.what)
        said = (done.stdout + done.stderr).decode("utf-8", "replace").replace(f"{folder}/", "").strip()
    return Checked(name, done.status == 0, said)


def read_crontab() -> str:
    """The user's crontab; empty where there is none. Raises `CouldNotWork` where there is no cron."""
    if shutil.which("crontab") is None:
        raise CouldNotWork(
            "cron is not installed: there is no crontab on PATH", hint="forkguard nightly --install systemd"
        )
    done = proc.run(("crontab", "-l"), cwd=Path("/"), timeout=_TIMEOUT, allowed=(0, 1))
    if done.status and b"no crontab for" not in done.stderr:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CouldNotWork(f"the crontab cannot be read: {said}", hint="crontab -l  says the same")
    return done.text() if done.status == 0 else ""


def write_crontab(text: str) -> None:
    """Replace the user's crontab."""
    proc.run(("crontab", "-"), cwd=Path("/"), timeout=_TIMEOUT, stdin=text.encode())
