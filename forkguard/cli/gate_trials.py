"""What `gate --self-test` and `gate --bisect` share: the options, and a gate of any commit."""

from dataclasses import dataclass
from pathlib import Path

from forkguard.adapters.hashing import hash_file
from forkguard.cli.compose import Project
from forkguard.cli.gating import GateQuestion, gate_program
from forkguard.cli.project_options import ProjectOptions
from forkguard.core.gate import GatedTree, GateReport
from forkguard.core.map_models import UpstreamMap
from forkguard.core.names import CommitHash
from forkguard.errors import UsageProblem
from forkguard.ports import Talk
from forkguard.workflows.build import Workshop, build_tree


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """The options of `gate` that count for a self-test and a bisection."""

    project: ProjectOptions
    arch: str | None
    profile: str | None
    widths: tuple[int, ...]
    slots: tuple[int, ...]
    probe_size: str
    format_: str
    output: Path | None


@dataclass(frozen=True, slots=True)
class CommitGate:
    """Builds a commit in its isolated tree and gates the server."""

    project: Project
    workshop: Workshop
    profile: str
    talk: Talk
    upstream: GatedTree | None = None

    def __call__(
        self,
        commit: CommitHash,
        question: GateQuestion,
        *,
        map_: UpstreamMap,
        patchsets: tuple[str, ...] = (),
        receipts: Path | None = None,
    ) -> tuple[GateReport, str]:
        """The report, and the path of its receipt (in `receipts`, else where all are). Raises as building does.

        Drift is not asked what explains a red gate: the change is known, or is what is looked for.
        """
        built = build_tree(
            self.workshop, repository=self.project.fork_repo.path, commit=commit, profile=self.profile
        )  # fmt: skip
        tree = GatedTree(str(built.server), hash_file(built.server), commit, None, patchsets)
        report, receipt = gate_program(
            map_, self.project.root, question, tree, suspects=tuple, talk=self.talk, upstream=self.upstream,
            receipts=receipts,
        )  # fmt: skip
        return report, str(receipt)


def chosen_arch(map_: UpstreamMap, asked: str | None) -> str:
    """The arch asked for, else the first of `[defaults]`, else the only one of the map.

    Raises `UsageProblem` where that decides nothing: a gate of one of several would look like one of all.
    """
    names = (asked,) if asked is not None else map_.watched
    if not names or (len(names) > 1 and not map_.defaults.archs):
        raise UsageProblem(
            f"the map watches {len(names)} archs, and none is named" if names else "no arch is named",
            hint=f"forkguard gate --arch {next(iter(names), 'NAME')}, or list archs in [defaults] of the map",
        )
    return names[0]


def refuse_beside_trials(*, self_test: bool, bisect: bool, mutations: bool, others: bool) -> None:
    """Raise `UsageProblem` for options that do not go together."""
    if self_test and bisect:
        raise UsageProblem("--self-test and --bisect are two runs", hint="give one of the two")
    if mutations and not self_test:
        raise UsageProblem("--mutation belongs to --self-test", hint="forkguard gate --self-test --mutation NAME")
    if others:
        raise UsageProblem(
            "--self-test and --bisect build what they gate, and gate it in one way",
            hint="give beside them --arch, --profile, --width, --slots and --probe-size alone",
        )
