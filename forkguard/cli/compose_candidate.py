"""Wiring of a candidate: built in its own tree, gated beside upstream at the commit that it stands on."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from forkguard.cli import clock
from forkguard.cli import compose_gate as wiring
from forkguard.cli.compose import Project, patchset_store
from forkguard.cli.compose_build import open_workshop
from forkguard.cli.gating import GateQuestion, build_upstream, gate_program
from forkguard.core.build_profiles import DEFAULT_PROFILE
from forkguard.core.findings import Side
from forkguard.core.gateoptions import gate_table
from forkguard.core.nightly import NightBuild, NightCheck, NightGate
from forkguard.core.probes.registry import PROBES
from forkguard.errors import UsageProblem
from forkguard.ports import Talk
from forkguard.workflows.build import BuiltTree, build_tree, prune
from forkguard.workflows.replay import ACTIVE


@dataclass(frozen=True, slots=True)
class CandidateWork:
    """Builds and gates candidates of one project."""

    project: Project
    talk: Talk

    def gates(self, archs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The archs that can be gated, and why each other one cannot."""
        fit, unfit = [], []
        for arch in archs:
            why = self._no_gate(arch)
            if why:
                unfit.append(f"{arch}: {why}")
            else:
                fit.append(arch)
        return tuple(fit), tuple(unfit)

    def _no_gate(self, arch: str) -> str:
        map_ = self.project.map
        try:
            table = gate_table(map_, arch)
        except UsageProblem as problem:
            return problem.what
        return "" if table.target is not None or (map_.arch[arch].probe or arch) in PROBES else "no models, no probe"

    def build(self, candidate: Side, target: Side) -> NightBuild:
        """The candidate's server."""
        profile = self._profile()
        built = self._built(self._standing(candidate, target), profile)
        return NightBuild(profile, built.result.tree, str(built.server), round(built.result.seconds, 3))

    def prune(self, keep: int) -> int:
        """Leave so many trees of all projects that share the folder, but the one that was used last always."""
        store = open_workshop(self.project, self.talk).trees
        return len(prune(store, now=time.time(), keep=max(keep, 1), older_than=None, dry_run=False).removed)

    def gate(self, arch: str, candidate: Side, target: Side) -> NightGate:
        """The candidate beside upstream, unless the map says `upstream = false`."""
        project = self._standing(candidate, target)
        table = gate_table(project.map, arch)
        profile = table.profile or self._profile()
        built = self._built(project, profile)
        beside = table.upstream is not False
        upstream = build_upstream(project, profile=profile, talk=self.talk) if beside else None
        tree = replace(wiring.built_tree(project, built.server), patchsets=self._carried())
        report, receipt = gate_program(
            project.map, project.root, GateQuestion(arch, upstream=beside, profile=profile), tree,
            suspects=lambda: wiring.drift_suspects(project, arch, today=clock.today()), talk=self.talk,
            upstream=upstream,
        )  # fmt: skip
        checks = tuple(NightCheck(one.name.value, one.verdict.value, one.kind, one.detail) for one in report.checks)
        return NightGate(arch, report.verdict.value, f"{receipt.parent.name}/{receipt.name}", checks)

    def _profile(self) -> str:
        map_ = self.project.map
        return map_.nightly.profile or map_.gate.profile or DEFAULT_PROFILE

    def _built(self, project: Project, profile: str) -> BuiltTree:
        return build_tree(
            open_workshop(project, self.talk),
            repository=project.fork_repo.path,
            commit=project.fork.commit,
            profile=profile,
        )

    def _standing(self, candidate: Side, target: Side) -> Project:
        """The project as if the candidate were production: it stands on the target, whatever base the map names."""
        map_ = self.project.map
        upstream = map_.upstream.model_copy(update={"base": target.commit})
        return replace(
            self.project, fork=candidate, upstream=target, map=map_.model_copy(update={"upstream": upstream})
        )

    def _carried(self) -> tuple[str, ...]:
        store = patchset_store(self.project)
        return tuple(entry.name for entry in store.order() if store.manifest(entry.name).state in ACTIVE)
