"""`forkguard probe`."""

from pathlib import Path

import click

from forkguard.adapters.gguf_files import write_model
from forkguard.cli.options import deliver
from forkguard.core.probes.registry import DEFAULT_SEED, DEFAULT_SIZE
from forkguard.errors import ExitCode
from forkguard.reports import probe as report
from forkguard.workflows.probe import write_probe


@click.command()
@click.argument("arch")
@click.option("--size", default=DEFAULT_SIZE, show_default=True, metavar="small|deep", help="How deep the target is.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=int, help="What the weights are drawn from.")
@click.option(
    "--output", default=Path(), type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="The folder to write to.  [default: the current one]",
)  # fmt: skip
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="The form of the result.",
)  # fmt: skip
def command(arch: str, size: str, seed: int, output: Path, format_: str) -> int:
    """Write a tiny random-weight target and draft for ARCH, which run anywhere in a second.

    Their text means nothing, but it wanders, and the target accepts the draft's tokens part of the time. So
    they show crashes, wrong states and fallbacks without a GPU or a model file; they cannot show speed or
    quality. The same seed gives the same bytes on every machine. The deep size has 24 blocks and a draft
    width of up to 64: it shows limits that grow with depth.

    \b
    Examples:
      forkguard probe lfm2
      forkguard probe lfm2 --size deep --output /tmp/probe
    """
    pair = write_probe(arch, output, write=write_model, size=size, seed=seed)
    deliver(report.as_json(pair) if format_ == "json" else report.as_text(pair), output=None)
    return int(ExitCode.CLEAN)
