"""`forkguard gate --self-test`."""

import time

from forkguard.cli.compose import Project, project_rules
from forkguard.cli.compose_build import open_workshop
from forkguard.cli.compose_stack import replay_tools
from forkguard.cli.gate_jobs import EXITS
from forkguard.cli.gate_trials import CommitGate, TrialOptions, chosen_arch
from forkguard.cli.gating import GateQuestion, build_profile
from forkguard.cli.options import deliver
from forkguard.core.build_profiles import choose_profile, tree_id
from forkguard.core.gate import GateReport
from forkguard.core.gateoptions import gate_table
from forkguard.core.map_models import GateTable, UpstreamMap
from forkguard.core.mutations import Mutation
from forkguard.core.names import CommitHash
from forkguard.core.self_test import chosen_mutations
from forkguard.reports.gate_trials import self_test_json, self_test_text
from forkguard.workflows.build import Workshop
from forkguard.workflows.self_test import SelfTestTools, run_self_test

FOLDER = "self-test"
"""Where the receipts of a self-test lie, below the state folder: apart from those that `verify` reads."""


def tell_self_test(options: TrialOptions, *, names: tuple[str, ...]) -> int:
    """Run the self-test, and tell it; the exit status."""
    mutations = chosen_mutations(names)
    with (
        options.project.talk() as talk,
        options.project.opened() as project,
    ):
        arch = chosen_arch(project.map, options.arch)
        profile = options.profile or build_profile(project.map, GateQuestion(arch))
        project.state_folder()
        workshop = open_workshop(project, talk)
        gate = _Gate(CommitGate(project, workshop, profile, talk), options, arch)
        tools = SelfTestTools(
            project.fork_repo, replay_tools(project, talk).store, gate.of, time.monotonic, talk
        )  # fmt: skip
        report = run_self_test(
            tools, fork=project.fork, arch=arch, profile=profile, rules=project_rules(project), mutations=mutations,
            chosen=bool(names),
        )  # fmt: skip
    deliver(self_test_json(report) if options.format_ == "json" else self_test_text(report), output=options.output)
    return int(EXITS[report.verdict])


class _Gate:
    """Gates the tree itself, or a mutant, with the probe; a mutant's tree goes when it is gated."""

    def __init__(self, gate: CommitGate, options: TrialOptions, arch: str) -> None:
        self._gate = gate
        self._options = options
        self._arch = arch

    def of(self, commit: CommitHash, mutation: Mutation | None) -> tuple[GateReport, str]:
        """The report and the receipt's path."""
        project, workshop = self._gate.project, self._gate.workshop
        question = GateQuestion(
            self._arch,
            (mutation.widths if mutation is not None else ()) or self._options.widths,
            (mutation.probe if mutation is not None else "") or self._options.probe_size,
            slots=self._options.slots,
            profile=self._gate.profile,
        )
        map_ = probe_map(project, self._arch, mutation)
        try:
            return self._gate(commit, question, map_=map_, receipts=project.state / FOLDER)
        finally:
            if commit != project.fork.commit:
                _drop(workshop, commit, self._gate.profile)


def _drop(workshop: Workshop, commit: CommitHash, profile: str) -> None:
    name = tree_id(commit, choose_profile(profile, workshop.profiles, workshop.tools.machine()))
    with workshop.trees.lock(name, purpose="forkguard gate --self-test"):
        workshop.trees.remove(name)


def probe_map(project: Project, arch: str, mutation: Mutation | None) -> UpstreamMap:
    """The map with a gate of the arch that takes the probe, and asks what the mutation needs asked.

    Models, signatures, upstream's arms and the checks that need real models are left out.
    """
    table = gate_table(project.map, arch)
    fails = "fail" if mutation is not None and mutation.fallback_fails else None
    timeout = mutation.timeout if mutation is not None and mutation.timeout is not None else table.timeout
    plain = GateTable.model_validate(
        {
            "widths": table.widths, "slots": table.slots, "tokens": table.tokens, "args": table.args,
            "near_tie_gap": table.near_tie_gap, "prompts": table.prompts, "fallback": fails, "timeout": timeout,
        }
    )  # fmt: skip
    archs = {**project.map.arch, arch: project.map.arch[arch].model_copy(update={"gate": None})}
    return project.map.model_copy(update={"gate": plain, "arch": archs})
