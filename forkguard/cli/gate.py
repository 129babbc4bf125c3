"""`forkguard gate`."""

from pathlib import Path

import click

from forkguard.adapters.mapstore import find_map, read_map
from forkguard.cli.compose import open_project
from forkguard.cli.compose_gate import drift_suspects, now
from forkguard.cli.gating import GateQuestion, foreign_program, gate_program, gate_project
from forkguard.cli.options import deliver, output_options, project_options
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.gate import GateReport, Suspect, Verdict
from forkguard.core.map_models import UpstreamMap
from forkguard.core.probes.registry import DEFAULT_SIZE
from forkguard.errors import ExitCode, UsageProblem
from forkguard.reports import gate as report

_EXITS = {
    Verdict.PASS: ExitCode.CLEAN,
    Verdict.FAIL: ExitCode.FINDING,
    Verdict.INCONCLUSIVE: ExitCode.COULD_NOT,
}


@click.command()
@click.option("--arch", metavar="NAME", help="The arch to gate.  [default: the first of the map's [defaults] archs]")
@click.option(
    "--binary", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH",
    help="A llama-server that was built elsewhere, instead of a build of the fork.",
)  # fmt: skip
@click.option("--profile", metavar="NAME", help="How to build.  [default: the map's gate profile, else cpu]")
@click.option(
    "--width", "widths", multiple=True, type=click.IntRange(min=1), metavar="N",
    help="Tokens drafted at once; may be repeated.  [default: the map's, else 3 and 7]",
)  # fmt: skip
@click.option("--probe-size", default=DEFAULT_SIZE, show_default=True, metavar="small|deep", help="Which probe.")
@output_options(("text", "json"))
@project_options
def command(
    arch: str | None,
    binary: Path | None,
    profile: str | None,
    widths: tuple[int, ...],
    probe_size: str,
    format_: str,
    output: Path | None,
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    upstream_ref: str | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """Run the fork's llama-server with and without a draft, and judge what it does.

    Builds the fork in its isolated tree (or takes --binary), starts fresh servers on this machine, and asks
    each the same prompts, greedily: twice without a draft, once for each draft width, and once with a verbose
    log. Uses the models that the map names for the arch, or else a probe: a tiny random-weight pair that
    needs neither a GPU nor a model file.

    \b
    The checks:
      crash        every server loads, answers everything, and stops as it must
      liveness     tokens were drafted, and some accepted: else the rest proves nothing
      determinism  the text is the same with the draft as without it, token by token
      fallback     whether the server quietly takes a slower way

    \b
    Examples:
      forkguard gate --arch lfm2
      forkguard gate --arch lfm2 --fork-ref forkguard/27383
      forkguard gate --arch lfm2 --binary /opt/llama/bin/llama-server --format json

    A receipt, with the raw logs beside it, is written under .forkguard/receipts.

    Exit status: 0 passed; 1 failed; 3 inconclusive, or could not run.
    """
    with ConsoleTalk(verbose=verbose, color=color) as talk:
        if binary is None:
            with open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref) as project:
                question = GateQuestion(_arch(project.map, arch), widths, probe_size)
                result, receipt = gate_project(project, question, profile=profile, talk=talk)
        else:
            if profile is not None:
                raise UsageProblem("--profile says how to build, and --binary is built", hint="give one of the two")
            map_path = map_file.absolute() if map_file else find_map(Path.cwd())
            map_ = read_map(map_path)
            question = GateQuestion(_arch(map_, arch), widths, probe_size)

            def witnesses() -> tuple[Suspect, ...]:
                with open_project(
                    map_file=map_path, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref
                ) as project:
                    return drift_suspects(project, question.arch, today=now().date())

            result, receipt = gate_program(
                map_, map_path.parent, question, foreign_program(binary), suspects=witnesses, talk=talk
            )
    return _tell(result, receipt, format_=format_, output=output)


def _arch(map_: UpstreamMap, asked: str | None) -> str:
    names = (asked,) if asked is not None else map_.defaults.archs
    if not names:
        raise UsageProblem(
            "no arch is named", hint="forkguard gate --arch lfm2, or list archs in [defaults] of the map"
        )
    return names[0]


def _tell(result: GateReport, receipt: Path, *, format_: str, output: Path | None) -> int:
    written = receipt.read_text(encoding="utf-8")
    text = written if format_ == "json" else report.to_text(result, receipt=str(receipt))
    deliver(text, output=output)
    return int(_EXITS[result.verdict])
