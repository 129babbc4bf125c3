"""Wiring of the gate: models, servers, the receipt's folder, and drift as a witness."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from forkguard import __version__
from forkguard.adapters.gguf_files import read_header, write_model
from forkguard.adapters.hashing import hash_file
from forkguard.adapters.host import describe_box, recorded_environment, server_environment
from forkguard.adapters.server import Bounds, DraftUse, LlamaServers, ServerSpec
from forkguard.adapters.server_files import hash_libraries, read_model
from forkguard.adapters.upstream_tests import UpstreamPrograms
from forkguard.cli import clock
from forkguard.cli.compose import Project, fork_base, project_ledger, project_rules
from forkguard.core.findings import Base, Finding
from forkguard.core.gate import GatedTree, ModelFile, Suspect
from forkguard.core.gateoptions import (
    DEFAULT_SLOTS,
    DEFAULT_SPEC_TYPE,
    DEFAULT_WIDTHS,
    named_drafts,
    named_targets,
    target_files,
)
from forkguard.core.map_models import DraftTable, GateTable, UpstreamMap
from forkguard.core.prompts import PROMPTS, Prompt, read_prompts
from forkguard.errors import CouldNotWork
from forkguard.ports import Talk
from forkguard.workflows.drift import run_drift
from forkguard.workflows.gate import GateMeans, GateSubject
from forkguard.workflows.probe import write_probe

_PROBE_WORDS = ("-t", "1")


@dataclass(frozen=True, slots=True)
class Models:
    """The files under test, by the names that arms use. `args` are the words that a probe's draft type needs."""

    targets: Mapping[str, Path]
    drafts: Mapping[str, DraftUse]
    args: tuple[str, ...] = ()

    def only(self, *, target: str | None, draft: str | None) -> "Models":
        """The same without the others, where one is named: what a job runs."""
        targets = {name: path for name, path in self.targets.items() if target in (None, name)}
        return replace(
            self,
            targets=targets,
            drafts={name: use for name, use in self.drafts.items() if draft in (None, name)},
        )

    def _paths(self) -> tuple[Path, ...]:
        files = (use.path for use in self.drafts.values())
        return *self.targets.values(), *dict.fromkeys(path for path in files if path is not None)

    def kinds(self) -> dict[str, str]:
        """The type of each draft, by its name."""
        return {name: use.spec_type for name, use in self.drafts.items()}

    def files(self) -> tuple[ModelFile, ...]:
        """All as the receipt names them."""
        return tuple(read_model(path) for path in self._paths())

    def tensors(self) -> dict[str, tuple[str, ...]]:
        """The tensor names in the headers, by path."""
        return {str(path): read_header(path).tensors for path in self._paths()}


def choose_models(map_: UpstreamMap, table: GateTable, arch: str, *, root: Path, folder: Path, size: str) -> Models:
    """The map's models (paths are relative to `root`), else a probe written into `folder`.

    The map's `spec_type` chooses the probe's draft.
    """
    targets = {name: root / Path(file).expanduser() for name, file in named_targets(table).items()}
    if targets:
        return Models(targets, {name: _draft(one, root) for name, one in named_drafts(table).items()})
    name = map_.arch[arch].probe or arch
    pair = write_probe(name, folder, write=write_model, size=size, draft=table.spec_type)
    draft = DraftUse(Path(pair.draft.path) if pair.draft is not None else None, pair.spec_type)
    return Models({"": Path(pair.target.path)}, {"": draft}, pair.args)


def _draft(one: DraftTable, root: Path) -> DraftUse:
    path = root / Path(one.file).expanduser() if one.file is not None else None
    return DraftUse(path, one.spec_type or DEFAULT_SPEC_TYPE)


def choose_prompts(table: GateTable, *, root: Path) -> tuple[Prompt, ...]:
    """The map's prompts, else our own; `tokens` of the map counts for all."""
    prompts: tuple[Prompt, ...] = PROMPTS
    if table.prompts is not None:
        path = root / Path(table.prompts).expanduser()
        try:
            prompts = read_prompts(path.read_text(encoding="utf-8"), name=str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise CouldNotWork(
                f"the prompts cannot be read: {error}", where=str(path), hint="correct `prompts` in the map"
            ) from error
    if table.tokens is None:
        return prompts
    return tuple(Prompt(prompt.name, prompt.text, table.tokens) for prompt in prompts)


def choose_widths(table: GateTable, asked: Sequence[int]) -> tuple[int, ...]:
    """The draft widths: asked for, else the map's, else two of our own."""
    return tuple(dict.fromkeys(asked or table.widths or DEFAULT_WIDTHS))


def choose_slots(table: GateTable, asked: Sequence[int]) -> tuple[int, ...]:
    """The numbers of slots: asked for, else the map's, else one and two."""
    return tuple(dict.fromkeys(asked or table.slots or DEFAULT_SLOTS))


def gate_means(
    binary: Path,
    models: Models,
    table: GateTable,
    *,
    logs: Path,
    suspects: Callable[[], Sequence[Suspect]],
    talk: Talk,
    upstream: Path | None = None,
    asserts: Path | None = None,
) -> GateMeans:
    """What the gate needs from outside. Raises `UsageProblem` where there is no such program.

    Without models in the table they are a probe, for which one thread is quickest.
    """
    first = next(iter(models.drafts.values()))
    own = (*(() if target_files(table) else _PROBE_WORDS), *models.args)
    spec = ServerSpec(
        binary, next(iter(models.targets.values())), first.path, first.spec_type, logs, words=(*own, *table.args),
        other_drafts=models.drafts, other_targets=models.targets,
    )  # fmt: skip
    bounds = Bounds() if table.timeout is None else Bounds(request=table.timeout)
    environment = server_environment(os.environ)

    def servers(program: Path) -> LlamaServers:
        return LlamaServers(replace(spec, binary=program), env=environment, bounds=bounds)

    return GateMeans(
        servers=servers(binary),
        now=clock.now,
        libraries=lambda loaded: hash_libraries(binary, loaded),
        suspects=suspects,
        talk=talk,
        upstream=servers(upstream) if upstream is not None else None,
        asserts=servers(asserts) if asserts is not None else None,
        tensors=models.tensors,
    )


def upstream_bench() -> UpstreamPrograms:
    """Who runs upstream's own tests, with the servers' environment."""
    return UpstreamPrograms(server_environment(os.environ))


def gate_subject(tree: GatedTree, models: Models, *, upstream: GatedTree | None = None) -> GateSubject:
    """What is gated, with this machine's facts."""
    environment = recorded_environment(os.environ)
    return GateSubject(tree, models.files(), describe_box(), environment, __version__, upstream)


def foreign_tree(binary: Path) -> GatedTree:
    """A program that was built elsewhere: only its bytes are known."""
    return GatedTree(str(binary), hash_file(binary))


def built_tree(project: Project, binary: Path) -> GatedTree:
    """A program built from the project's fork; its patchsets are those whose branch the commit contains."""
    prefix = "refs/heads/forkguard/"
    branches = project.fork_repo.refs(prefix)
    carried = sorted(
        name.removeprefix(prefix)
        for name, tip in branches.items()
        if project.fork_repo.is_ancestor(tip, project.fork.commit)
    )
    return GatedTree(str(binary), hash_file(binary), project.fork.commit, project.fork.ref, tuple(carried))


def upstream_pin(project: Project) -> Base:
    """The upstream commit that the fork descends from, which its gate is held against."""
    return fork_base(project)


def drift_suspects(project: Project, arch: str, *, today: date) -> tuple[Suspect, ...]:
    """What drift finds for the arch itself, as possible causes of a red gate."""
    base = upstream_pin(project)
    rules = project_rules(project)
    report = run_drift(
        project.fork_repo,
        fork=project.fork,
        upstream=project.upstream,
        base=base,
        archs=[arch],
        rules=rules,
        ledger=project_ledger(project, today=today),
    )
    logs = {rule.id: rule.logs for rule in rules}
    return tuple(_suspect(finding, logs.get(finding.rule, ())) for finding in report.findings if finding.arch == arch)


def _suspect(finding: Finding, logs: tuple[str, ...]) -> Suspect:
    commit = finding.upstream.commit if finding.upstream is not None else None
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    show = f"forkguard drift --arch {shlex.quote(finding.arch)}"
    return Suspect(
        finding.id,
        finding.title,
        str(finding.severity),
        logs,
        commit.pull if commit is not None else None,
        place,
        mend=finding.fix or show,
        command=finding.fix if finding.fix.startswith("forkguard ") else show,
    )
