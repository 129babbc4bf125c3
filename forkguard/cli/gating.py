"""One gate from a project or a program to its receipt; what `gate`, `demo` and others run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.adapters.hashing import hash_file
from forkguard.adapters.receipts import ReceiptStore, read_build
from forkguard.adapters.signing import SshSigner
from forkguard.cli import clock
from forkguard.cli import compose_gate as wiring
from forkguard.cli.compose import STATE_NAME, Project
from forkguard.cli.compose_build import open_workshop
from forkguard.cli.compose_measure import choose_questions, with_measurements
from forkguard.core.build_profiles import DEFAULT_PROFILE, has_libc_asserts, with_asserts
from forkguard.core.gate import GatedTree, GateReport, Suspect
from forkguard.core.gateoptions import gate_settings, gate_table
from forkguard.core.gateplan import plan_asserts
from forkguard.core.gatetests import UpstreamTests
from forkguard.core.map_models import GateTable, UpstreamMap
from forkguard.core.probes.registry import DEFAULT_SIZE
from forkguard.errors import UsageProblem
from forkguard.ports import Talk
from forkguard.reports import gate as report
from forkguard.workflows.build import build_tree
from forkguard.workflows.gate import plan_arms, run_gate, with_asserts_told
from forkguard.workflows.gate_tests import attach_tests, run_upstream_tests

_SHORT = 12


@dataclass(frozen=True, slots=True)
class GateQuestion:
    """What is asked: the arch, the draft widths and numbers of slots (none: the map's), the size of a probe.

    `upstream` asks for upstream's arms even where the map does not, `asserts` for an arm with libc's asserts and
    `upstream_tests` for upstream's own tests; both need the fork's sources.
    `job` is the matrix's, where one runs it, with the names of its `target` and `draft` (None: all); `profile` that
    of the build, where forkguard built.
    """

    arch: str
    widths: tuple[int, ...] = ()
    probe_size: str = DEFAULT_SIZE
    job: str | None = None
    profile: str | None = None
    slots: tuple[int, ...] = ()
    upstream: bool = False
    target: str | None = None
    draft: str | None = None
    asserts: bool = False
    upstream_tests: bool = False


def gate_project(
    project: Project,
    question: GateQuestion,
    *,
    profile: str | None,
    talk: Talk,
    upstream: GatedTree | None = None,
) -> tuple[GateReport, Path]:
    """Build the project's fork at its ref, gate the server, and write the receipt; the report and its path.

    Upstream at the fork's pin is built too where its arms are asked for and no `upstream` is given; so is the fork
    with libc's asserts, and with upstream's tests. Raises `UsageProblem` and `CouldNotWork` as building does; a
    server's misbehaviour is in the report.
    """
    chosen = profile or build_profile(project.map, question)
    project.state_folder()
    question = replace(question, profile=chosen)
    build = partial(
        build_tree, open_workshop(project, talk), repository=project.fork_repo.path, commit=project.fork.commit,
        profile=chosen,
    )  # fmt: skip
    built = build()
    if upstream is None and wants_upstream(project.map, question):
        upstream = build_upstream(project, profile=chosen, talk=talk)
    asserts = None
    if question.asserts:
        talk.step("building the fork with libc's asserts")
        asserts = wiring.built_tree(project, build(adapt=with_asserts).server)
    return gate_program(
        project.map, project.root, question, wiring.built_tree(project, built.server),
        suspects=lambda: wiring.drift_suspects(project, question.arch, today=clock.today()), talk=talk,
        upstream=upstream, asserts=asserts,
        tests=partial(_run_tests, project, question, talk=talk) if question.upstream_tests else None,
    )  # fmt: skip


def _run_tests(project: Project, question: GateQuestion, logs: Path, *, talk: Talk) -> UpstreamTests:
    commit = project.fork.commit
    return run_upstream_tests(
        open_workshop(project, talk), wiring.upstream_bench(),
        repository=project.fork_repo.path, commit=commit, files=project.fork_repo.tree(commit, under=["tests"]),
        profile=question.profile or DEFAULT_PROFILE, arch=question.arch, logs=logs,
    )  # fmt: skip


def wants_upstream(map_: UpstreamMap, question: GateQuestion) -> bool:
    """Whether upstream's arms are asked for, by the question or by the map."""
    return question.upstream or bool(gate_table(map_, question.arch).upstream)


def build_profile(map_: UpstreamMap, question: GateQuestion) -> str:
    """The build profile of the question, else the one that the map names for the arch's gate, or the default."""
    return question.profile or gate_table(map_, question.arch).profile or DEFAULT_PROFILE


def build_upstream(project: Project, *, profile: str, talk: Talk) -> GatedTree:
    """Build upstream at the fork's pin, in a tree of its own. Raises as building does."""
    pin = wiring.upstream_pin(project)
    talk.step(f"building upstream at the pin ({pin.commit[:_SHORT]})")
    built = build_tree(
        open_workshop(project, talk), repository=project.fork_repo.path, commit=pin.commit, profile=profile
    )
    return GatedTree(str(built.server), hash_file(built.server), pin.commit, project.upstream.ref)


def gate_program(
    map_: UpstreamMap,
    root: Path,
    question: GateQuestion,
    tree: GatedTree,
    *,
    suspects: Callable[[], Sequence[Suspect]],
    talk: Talk,
    upstream: GatedTree | None = None,
    asserts: GatedTree | None = None,
    tests: Callable[[Path], UpstreamTests] | None = None,
    receipts: Path | None = None,
) -> tuple[GateReport, Path]:
    """Gate one program, beside upstream's and one with libc's asserts; the report and the receipt's path.

    `root` is the map's folder, where the receipt goes, if not to `receipts`. `tests` runs upstream's own tests, their
    logs in the receipt's folder.
    """
    table = gate_table(map_, question.arch)
    settings = gate_settings(table, question.arch, upstream=upstream is not None)
    prompts = wiring.choose_prompts(table, root=root)
    questions = choose_questions(table, root=root)
    signer = _signer(table, root)
    store = ReceiptStore(receipts or _state_folder(root) / "receipts")
    folder = store.make_folder(clock.now(), name=(tree.commit or tree.binary_sha256)[:_SHORT])
    models = wiring.choose_models(map_, table, question.arch, root=root, folder=folder, size=question.probe_size)
    models = models.only(target=question.target, draft=question.draft)
    talk.step("hashing the models")
    subject = wiring.gate_subject(tree, models, upstream=upstream)
    means = wiring.gate_means(
        Path(tree.binary), models, table, logs=folder, suspects=suspects, talk=talk,
        upstream=Path(upstream.binary) if upstream is not None else None,
        asserts=Path(asserts.binary) if asserts is not None else None,
    )  # fmt: skip
    build = read_build(Path(tree.binary), profile=question.profile)
    plans = plan_arms(
        wiring.choose_widths(table, question.widths), prompts, slots=wiring.choose_slots(table, question.slots),
        drafts=tuple(models.drafts), targets=tuple(models.targets), upstream=upstream is not None,
    )  # fmt: skip
    if asserts is not None:
        plans = (*plans, *plan_asserts(plans))
    result = run_gate(means, settings=settings, subject=subject, plans=plans)
    compiled_in = has_libc_asserts(build.options) if build is not None else None
    result = with_asserts_told(result, compiled_in=compiled_in, tree=asserts)
    result = with_measurements(
        result, table, plans, servers=means.servers, questions=questions, kinds=models.kinds(),
        receipts=store.all(), suspects=suspects, talk=talk, now=clock.now,
    )  # fmt: skip
    if tests is not None:
        result = attach_tests(result, tests(folder), finished=clock.now().isoformat(timespec="seconds"))
    sign = signer.sign if signer is not None else None
    return result, store.write(folder, report.to_json(result), build=build, job=question.job, sign=sign)


def _state_folder(root: Path) -> Path:
    """The state folder beside the map. It is made without a look at the fork: a program needs no clone of it."""
    state = root / STATE_NAME
    if not state.is_dir():
        write_atomic(state / ".gitignore", "*\n")
    return state


def _signer(table: GateTable, root: Path) -> SshSigner | None:
    """Who signs the receipt, checked before anything runs; None where nobody does."""
    if table.sign_key is None:
        return None
    signer = SshSigner(root / Path(table.sign_key).expanduser())
    signer.check()
    return signer


def foreign_program(binary: Path, *, option: str = "--binary") -> GatedTree:
    """A program built elsewhere, which is there. Raises `UsageProblem` where it is not."""
    path = binary.expanduser().absolute()
    if not path.is_file():
        raise UsageProblem("there is no program at this path", where=str(path), hint=f"give {option} a llama-server")
    return wiring.foreign_tree(path)
