"""`forkguard probe`."""

from pathlib import Path

import click

from forkguard.adapters.gguf_files import write_model
from forkguard.cli.options import deliver
from forkguard.core.probes.registry import DEFAULT_SEED, DEFAULT_SIZE, PROBES
from forkguard.errors import ExitCode, UsageProblem
from forkguard.reports import probe as report
from forkguard.workflows.probe import write_probe


@click.command()
@click.argument("arch", required=False)
@click.option("--list", "list_", is_flag=True, help="List the probes: archs, kinds, sizes and draft types.")
@click.option("--size", default=DEFAULT_SIZE, show_default=True, metavar="small|deep", help="How deep the target is.")
@click.option("--draft", metavar="TYPE", help="The draft's type, as --list has it.  [default: the arch's first]")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=int, help="What the weights are drawn from.")
@click.option(
    "--output", default=Path(), type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="The folder to write to.  [default: the current one]",
)  # fmt: skip
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="The form of the result.",
)  # fmt: skip
def command(
    arch: str | None, *, list_: bool, size: str, draft: str | None, seed: int, output: Path, format_: str
) -> int:
    """Write a tiny random-weight target and draft for ARCH, which run anywhere in a second.

    Their text means nothing, but it wanders, and the target accepts the draft's tokens part of the time. So
    they show crashes, wrong states and fallbacks without a GPU or a model file; they cannot show speed or
    quality. The same seed gives the same bytes on every machine. The deep size has 24 blocks and, where the draft
    diffuses, a width of up to 64: it shows limits that grow with depth.

    \b
    Examples:
      forkguard probe --list
      forkguard probe lfm2
      forkguard probe qwen35 --draft mtp
      forkguard probe lfm2 --size deep --output /tmp/probe
    """
    if list_ == (arch is not None):
        raise UsageProblem(
            "probe takes an arch or --list" + (", not both" if list_ else ""), hint="forkguard probe --list"
        )
    if arch is None:
        families = PROBES.values()
        text = report.list_as_json(families) if format_ == "json" else report.list_as_text(families)
    else:
        pair = write_probe(arch, output, write=write_model, size=size, draft=draft, seed=seed)
        text = report.as_json(pair) if format_ == "json" else report.as_text(pair)
    deliver(text, output=None)
    return int(ExitCode.CLEAN)
