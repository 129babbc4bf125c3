"""A fork beside a map, and `forkguard drift --format json` over it, as values."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from tests.support.commands import Outcome, forkguard
from tests.support.repos import MiniHistory

MAP = """[fork]
path = "{fork}"
ref = "production"

[upstream]
remote = "upstream"
ref = "upstream/master"
"""

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/drift.json").read_text())

Document = dict[str, Any]


@dataclass
class Desk:
    """A folder with a map for a miniature history; `upstream` and `fork` may be committed to before each run."""

    folder: Path
    history: MiniHistory

    def upstream_edit(self, subject: str, path: str, *changes: tuple[str, str]) -> str:
        """Commit exchanges of text to upstream's master, and fetch them into the fork."""
        return self.upstream_commit(subject, {path: exchanged(self.history.upstream.text(path), *changes)})

    def upstream_commit(self, subject: str, files: dict[str, str | bytes]) -> str:
        """Commit files to upstream's master, and fetch them into the fork."""
        commit = self.history.upstream.commit(subject, files)
        self.history.fork.git("fetch", "-q", "upstream")
        return commit

    def fork_edit(self, subject: str, path: str, *changes: tuple[str, str]) -> str:
        """Commit exchanges of text to the fork's production branch."""
        return self.history.fork.commit(subject, {path: exchanged(self.history.fork.text(path), *changes)})

    def accept(self, text: str) -> None:
        """Add to the map."""
        path = self.folder / "upstream-map.toml"
        path.write_text(path.read_text() + text)

    def run(self, *words: str) -> Outcome:
        """Run `forkguard drift` with these words."""
        return forkguard("drift", *words, cwd=self.folder)

    def drift(self, *archs: str, status: int | None = None, more: tuple[str, ...] = ()) -> Document:
        """The JSON document for some archs; `status` is the exit status that it must have."""
        outcome = self.run(*(word for arch in archs for word in ("--arch", arch)), "--format", "json", *more)
        assert outcome.status in ({0, 1} if status is None else {status}), outcome.err + outcome.out
        return checked(outcome)


def checked(outcome: Outcome) -> Document:
    """The JSON document of a run, held against its schema and against the exit status."""
    document: Document = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    assert document["summary"]["clean"] == (outcome.status == 0)
    assert document["summary"]["findings"] == len(document["findings"])
    ids = [finding["id"] for finding in document["findings"]]
    assert len(ids) == len(set(ids)), "two findings have one id"
    return document


def desk_for(history: MiniHistory, folder: Path) -> Desk:
    """A new desk in `folder`."""
    folder.mkdir()
    (folder / "upstream-map.toml").write_text(MAP.format(fork=history.fork.path))
    return Desk(folder, history)


def exchanged(text: str, *changes: tuple[str, str]) -> str:
    """The text with each old stretch, which must stand there exactly once, exchanged for the new one."""
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def quads(document: Document) -> list[tuple[str, str, str, str]]:
    """Rule, arch, kind and severity of each finding, sorted."""
    return sorted((f["rule"], f["arch"], f["kind"], f["severity"]) for f in document["findings"])


def only(document: Document, **wanted: object) -> Document:
    """The one finding whose fields are as wanted."""
    found = [f for f in document["findings"] if all(f[key] == value for key, value in wanted.items())]
    assert len(found) == 1, [(f["rule"], f["kind"], f["text"]) for f in document["findings"]]
    one: Document = found[0]
    return one
