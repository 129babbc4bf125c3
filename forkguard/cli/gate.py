"""`forkguard gate`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.cli import clock
from forkguard.cli.compose_gate import drift_suspects
from forkguard.cli.gate_bisect import tell_bisect
from forkguard.cli.gate_jobs import EXITS, job_question, tell_jobs
from forkguard.cli.gate_selftest import tell_self_test
from forkguard.cli.gate_trials import TrialOptions, chosen_arch, refuse_beside_trials
from forkguard.cli.gating import (
    GateQuestion,
    build_profile,
    build_upstream,
    foreign_program,
    gate_program,
    gate_project,
    wants_upstream,
)
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.core.gate import GatedTree, GateReport, Suspect
from forkguard.core.map_models import UpstreamMap
from forkguard.core.probes.registry import DEFAULT_SIZE
from forkguard.errors import UsageProblem
from forkguard.ports import Talk
from forkguard.reports import gate as report


@click.command()
@click.option(
    "--arch",
    metavar="NAME",
    help="The arch to gate.  [default: the first of the map's [defaults], else its only one]",
)
@click.option(
    "--binary", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH",
    help="A llama-server that was built elsewhere, instead of a build of the fork.",
)  # fmt: skip
@click.option("--profile", metavar="NAME", help="How to build.  [default: the map's gate profile, else cpu]")
@click.option(
    "--width", "widths", multiple=True, type=click.IntRange(min=1), metavar="N",
    help="Tokens drafted at once; may be repeated.  [default: the map's, else 3 and 7]",
)  # fmt: skip
@click.option(
    "--slots", multiple=True, type=click.IntRange(min=1, max=64), metavar="N",
    help="Requests side by side; may be repeated.  [default: the map's, else 1 and 2]",
)  # fmt: skip
@click.option("--upstream", is_flag=True, help="Also run upstream at the fork's pin: who else has what is found?")
@click.option(
    "--upstream-binary", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH",
    help="The same with upstream's llama-server as it was built elsewhere.",
)  # fmt: skip
@click.option(
    "--asserts", is_flag=True, help="Also run the fork built with libc's asserts, which Release leaves out."
)
@click.option(
    "--upstream-tests", is_flag=True, help="Also build and run upstream's own tests, where the fork has them."
)
@click.option("--probe-size", default=DEFAULT_SIZE, show_default=True, metavar="small|deep", help="Which probe.")
@click.option("--matrix", type=click.Choice(["json"]), help="Print the jobs for a CI system's own matrix, and stop.")
@click.option("--job", metavar="ID", help="Run one job of the matrix.")
@click.option(
    "--merge", "merged", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Join the receipts of the matrix's jobs, anywhere below DIR, into one verdict.",
)  # fmt: skip
@click.option("--adopt", is_flag=True, help="With --merge: write the joined receipts to .forkguard/receipts.")
@click.option("--self-test", is_flag=True, help="Put known faults into scratch copies: does the gate catch each?")
@click.option(
    "--mutation", "mutations", multiple=True, metavar="NAME", help="With --self-test: only this; may be repeated."
)
@click.option("--bisect", is_flag=True, help="Find the first patchset of the stack that makes the gate red.")
@output_options(("text", "json"))
@project_options
def command(
    arch: str | None,
    binary: Path | None,
    profile: str | None,
    widths: tuple[int, ...],
    slots: tuple[int, ...],
    upstream: bool,
    upstream_binary: Path | None,
    asserts: bool,
    upstream_tests: bool,
    probe_size: str,
    matrix: str | None,
    job: str | None,
    merged: Path | None,
    adopt: bool,
    self_test: bool,
    mutations: tuple[str, ...],
    bisect: bool,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """Run the fork's llama-server with and without a draft, and judge what it does.

    Builds the fork in its isolated tree (or takes --binary), starts fresh servers on this machine, and asks
    each the same prompts, greedily: twice without a draft, once for each draft width and number of slots, and
    once with a verbose log. With --upstream the same is asked of upstream at the fork's pin. Uses the models
    that the map names for the arch, or else a probe: a tiny random-weight pair that needs neither a GPU nor a
    model file.

    \b
    The checks:
      crash        every server loads, answers everything, and stops as it must
      liveness     tokens were drafted, and some accepted: else the rest proves nothing
      determinism  the text is the same with the draft as without it, token by token
      fallback     whether the server quietly takes a slower way
      performance  where the map asks for it: a draft that is slower than none must not ship
      quality      where the map asks for it: not fewer right answers than without a draft
      upstream-tests  with that option: upstream's own tests pass

    \b
    Examples:
      forkguard gate --arch lfm2
      forkguard gate --arch lfm2 --fork-ref forkguard/27383
      forkguard gate --arch lfm2 --upstream
      forkguard gate --arch lfm2 --binary /opt/llama/bin/llama-server --format json
      forkguard gate --matrix json; forkguard gate --job lfm2.cpu.draft-3; forkguard gate --merge artifacts

    A receipt, with the raw logs beside it, is written under .forkguard/receipts.

    --self-test and --bisect build and gate many trees. The first exits 0 where the gate catches every fault, the
    second 1 where a patchset is found (0: the whole stack passes).

    Exit status: 0 passed; 1 failed; 3 inconclusive, or could not run.
    """
    if self_test or bisect or mutations:
        others = binary or upstream_binary or upstream or asserts or upstream_tests or job or matrix or merged
        refuse_beside_trials(self_test=self_test, bisect=bisect, mutations=bool(mutations), others=bool(others))
        trial = TrialOptions(options, arch, profile, widths, slots, probe_size, format_, output)
        return tell_self_test(trial, names=mutations) if self_test else tell_bisect(trial)
    if matrix is not None or merged is not None or adopt:
        return tell_jobs(
            matrix=matrix is not None, merged=merged, adopt=adopt, map_file=options.map_file, format_=format_,
            output=output,
        )  # fmt: skip
    _refuse_mixtures(job, bool(arch or profile or widths or slots), upstream and upstream_binary is not None)
    theirs = foreign_program(upstream_binary, option="--upstream-binary") if upstream_binary is not None else None

    def question(map_: UpstreamMap) -> GateQuestion:
        asked = GateQuestion(
            "", widths, probe_size, slots=slots, upstream=upstream, asserts=asserts, upstream_tests=upstream_tests
        )
        return job_question(map_, job, asked) if job is not None else replace(asked, arch=chosen_arch(map_, arch))

    with options.talk() as talk:
        if binary is None:
            with options.opened() as project:
                result, receipt = gate_project(
                    project, question(project.map), profile=profile, talk=talk, upstream=theirs
                )
        else:
            _refuse_builds(profile=profile is not None, others=asserts or upstream_tests)
            result, receipt = _gate_binary(binary, options, question, talk=talk, upstream=theirs)
    return _tell(result, receipt, format_=format_, output=output)


def _gate_binary(
    binary: Path,
    options: ProjectOptions,
    question: Callable[[UpstreamMap], GateQuestion],
    *,
    talk: Talk,
    upstream: GatedTree | None,
) -> tuple[GateReport, Path]:
    """Gate a program that was built elsewhere. The fork is opened only where drift is asked or upstream is built."""
    map_path = chosen_map(options.map_file)
    map_ = read_map(map_path)
    asked = question(map_)

    def witnesses() -> tuple[Suspect, ...]:
        with options.opened() as project:
            return drift_suspects(project, asked.arch, today=clock.today())

    tree = foreign_program(binary)
    if upstream is None and wants_upstream(map_, asked):
        with options.opened() as project:
            upstream = build_upstream(project, profile=build_profile(map_, asked), talk=talk)
    return gate_program(map_, map_path.parent, asked, tree, suspects=witnesses, talk=talk, upstream=upstream)


def _refuse_builds(*, profile: bool, others: bool) -> None:
    """What only a build of the fork can do, beside a program that is built."""
    if profile:
        raise UsageProblem("--profile says how to build, and --binary is built", hint="give one of the two")
    if others:
        raise UsageProblem(
            "--asserts and --upstream-tests build the fork, and --binary is built", hint="leave --binary out"
        )


def _refuse_mixtures(job: str | None, beside_job: bool, upstream_twice: bool) -> None:
    if job is not None and beside_job:
        raise UsageProblem("a job says arch, profile, width and slots by itself", hint=f"forkguard gate --job {job}")
    if upstream_twice:
        raise UsageProblem("--upstream builds what --upstream-binary names", hint="give one of the two")


def _tell(result: GateReport, receipt: Path, *, format_: str, output: Path | None) -> int:
    written = receipt.read_text(encoding="utf-8")
    text = written if format_ == "json" else report.to_text(result, receipt=str(receipt))
    deliver(text, output=output)
    return int(EXITS[result.verdict])
