"""`forkguard gate --bisect`."""

import time

from forkguard.adapters.git import GitRepository
from forkguard.adapters.worktrees import Worktrees
from forkguard.cli.compose import Project, patchset_store
from forkguard.cli.compose_build import open_workshop
from forkguard.cli.compose_stack import project_base, replay_tools
from forkguard.cli.gate_trials import CommitGate, TrialOptions, chosen_arch
from forkguard.cli.gating import GateQuestion, build_profile, build_upstream, wants_upstream
from forkguard.cli.options import deliver
from forkguard.core.gate import GateReport
from forkguard.core.gate_bisect import BisectReport, BisectResult
from forkguard.core.names import CommitHash
from forkguard.errors import ExitCode
from forkguard.ports import Talk
from forkguard.reports.gate_trials import bisect_json, bisect_text
from forkguard.workflows.gate_bisect import BisectTools, run_bisect
from forkguard.workflows.replay import read_patches

_EXITS = {
    BisectResult.TIP_GREEN: ExitCode.CLEAN,
    BisectResult.FOUND: ExitCode.FINDING,
    BisectResult.BASE_RED: ExitCode.FINDING,
    BisectResult.UNCLEAR: ExitCode.COULD_NOT,
    BisectResult.INCONCLUSIVE: ExitCode.COULD_NOT,
}
_BASE_REF = "refs/forkguard/bisect-base"


def tell_bisect(options: TrialOptions) -> int:
    """Look for the patchset, and tell it; the exit status."""
    with (
        options.project.talk() as talk,
        options.project.opened() as project,
    ):
        report = _bisect(project, options, talk)
    text = bisect_json(report) if options.format_ == "json" else bisect_text(report)
    deliver(text, output=options.output)
    return int(_EXITS[report.answer.result])


def _bisect(project: Project, options: TrialOptions, talk: Talk) -> BisectReport:
    arch = chosen_arch(project.map, options.arch)
    question = GateQuestion(arch, options.widths, options.probe_size, slots=options.slots)
    profile = options.profile or build_profile(project.map, question)
    patches = read_patches(patchset_store(project))
    base = project_base(project)
    project.state_folder()
    if project.upstream_repo is not project.fork_repo:
        # Trees are worktrees of the fork, so it must have the base's objects.
        with GitRepository(project.fork_repo.path) as plain:
            checkouts = Worktrees(plain, project.cache / "worktrees")
            checkouts.fetch(project.upstream_repo.path, base, _BASE_REF)
    upstream = build_upstream(project, profile=profile, talk=talk) if wants_upstream(project.map, question) else None
    gate = CommitGate(project, open_workshop(project, talk), profile, talk, upstream)

    def gated(commit: CommitHash, patchsets: tuple[str, ...]) -> tuple[GateReport, str]:
        return gate(commit, question, map_=project.map, patchsets=patchsets)

    tools = BisectTools(replay_tools(project, talk), gated, time.monotonic, talk)
    return run_bisect(
        tools, patches, base=base, fork=project.fork, upstream=project.upstream.ref, arch=arch, profile=profile
    )
