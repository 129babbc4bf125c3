"""One gate from a project or a program to its receipt; what `gate`, `demo` and others run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.adapters.receipts import ReceiptStore, read_build
from forkguard.adapters.signing import SshSigner
from forkguard.cli import compose_gate as wiring
from forkguard.cli.compose import STATE_NAME, Project, open_workshop
from forkguard.core.build_profiles import DEFAULT_PROFILE
from forkguard.core.gate import GatedTree, GateReport, Suspect
from forkguard.core.gateoptions import gate_settings, gate_table
from forkguard.core.map_models import UpstreamMap
from forkguard.core.probes.registry import DEFAULT_SIZE
from forkguard.errors import UsageProblem
from forkguard.ports import Talk
from forkguard.reports import gate as report
from forkguard.workflows.build import build_tree
from forkguard.workflows.gate import plan_arms, run_gate

_SHORT = 12


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """What is asked: the arch, the draft widths (none: the map's), the size of a probe.

    `job` is the matrix's, where one runs it; `profile` that of the build, where forkguard built.
    """

    arch: str
    widths: tuple[int, ...] = ()
    probe_size: str = DEFAULT_SIZE
    job: str | None = None
    profile: str | None = None


def gate_project(
    project: Project, question: GateQuestion, *, profile: str | None, talk: Talk
) -> tuple[GateReport, Path]:
    """Build the project's fork at its ref, gate the server, and write the receipt; the report and its path.

    Raises `UsageProblem` and `CouldNotWork` as building does; a server's misbehaviour is in the report.
    """
    table = gate_table(project.map, question.arch)
    chosen = profile or table.profile or DEFAULT_PROFILE
    project.state_folder()
    built = build_tree(
        open_workshop(project, talk),
        repository=project.fork_repo.path,
        commit=project.fork.commit,
        profile=chosen,
    )
    return gate_program(
        project.map, project.root, replace(question, profile=chosen), wiring.built_tree(project, built.server),
        suspects=lambda: wiring.drift_suspects(project, question.arch, today=wiring.now().date()), talk=talk,
    )  # fmt: skip


def gate_program(
    map_: UpstreamMap,
    root: Path,
    question: GateQuestion,
    tree: GatedTree,
    *,
    suspects: Callable[[], Sequence[Suspect]],
    talk: Talk,
) -> tuple[GateReport, Path]:
    """Gate one program; `root` is the map's folder, where the receipt goes. The report and the receipt's path."""
    table = gate_table(map_, question.arch)
    settings = gate_settings(table, question.arch)
    prompts = wiring.choose_prompts(table, root=root)
    state = root / STATE_NAME
    if not state.is_dir():
        write_atomic(state / ".gitignore", "*\n")
    signer = SshSigner(root / Path(table.sign_key).expanduser()) if table.sign_key is not None else None
    if signer is not None:
        signer.check()
    store = ReceiptStore(state / "receipts")
    folder = store.make_folder(wiring.now(), name=(tree.commit or tree.binary_sha256)[:_SHORT])
    models = wiring.choose_models(map_, table, question.arch, root=root, folder=folder, size=question.probe_size)
    talk.step("hashing the models")
    subject = wiring.gate_subject(tree, models)
    means = wiring.gate_means(Path(tree.binary), models, table, logs=folder, suspects=suspects, talk=talk)
    plans = plan_arms(wiring.choose_widths(table, question.widths), prompts)
    result = run_gate(means, settings=settings, subject=subject, plans=plans)
    build = read_build(Path(tree.binary), profile=question.profile)
    sign = signer.sign if signer is not None else None
    return result, store.write(folder, report.to_json(result), build=build, job=question.job, sign=sign)


def foreign_program(binary: Path) -> GatedTree:
    """A program built elsewhere, which is there. Raises `UsageProblem` where it is not."""
    path = binary.expanduser().absolute()
    if not path.is_file():
        raise UsageProblem("there is no program at this path", where=str(path), hint="give --binary a llama-server")
    return wiring.foreign_tree(path)
