"""`forkguard verify`."""

import functools
import os
from datetime import timedelta
from pathlib import Path

import click

from forkguard.adapters.deployed import libraries_now
from forkguard.adapters.hashing import hash_file
from forkguard.adapters.host import recorded_environment
from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.adapters.receipts import ReceiptStore
from forkguard.adapters.server_files import read_model
from forkguard.adapters.signing import SshVerifier
from forkguard.cli import clock
from forkguard.cli.compose import STATE_NAME
from forkguard.cli.options import deliver, map_option, output_options
from forkguard.core.built_trees import parse_age
from forkguard.core.server_flags import flag_set, flagged_models, split_flags, steering_variables
from forkguard.core.verify import ModelNow, Question
from forkguard.errors import CouldNotWork, ExitCode
from forkguard.reports.verify import verify_json, verify_text
from forkguard.workflows.verify import verify

DEFAULT_AGE = "7d"
ANY_AGE = "any"


@click.command()
@click.argument("binary", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--model", "models", multiple=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="A GGUF file that will be served; may be repeated. Those that --flags names are added.",
)  # fmt: skip
@click.option(
    "--max-age", default=DEFAULT_AGE, show_default=True, metavar="AGE",
    help="How old the receipt may be: 12h, 7d, 2w, or `any`.",
)  # fmt: skip
@click.option("--arch", metavar="NAME", help="The arch that must have been gated.  [default: any]")
@click.option("--flags", metavar="TEXT", help="The server's flags, as one word; a gated server must have had them.")
@click.option(
    "--allowed-signers", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="The receipt must be signed by one of these; see ssh-keygen(1).  [default: the map's]",
)  # fmt: skip
@click.option(
    "--receipts", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="The folder of receipts.  [default: .forkguard/receipts beside the map]",
)  # fmt: skip
@map_option
@output_options(("text", "json"))
def command(
    binary: Path,
    models: tuple[Path, ...],
    max_age: str,
    arch: str | None,
    flags: str | None,
    allowed_signers: Path | None,
    receipts: Path | None,
    map_file: Path | None,
    format_: str,
    output: Path | None,
) -> int:
    """Is this exact binary covered by a passing, fresh receipt? The check before a deployment.

    Compares the binary, the libraries that it would load, the models, this process's environment and, with
    --flags, the server's flags with what was gated, and holds the receipts to their hashes. Needs no clone of
    the fork, and no map when --receipts names the folder. Runs neither the binary nor a gate.

    \b
    Examples:
      forkguard verify /opt/llama/bin/llama-server --model target.gguf --model draft.gguf
      forkguard verify bin/llama-server --receipts /var/lib/forkguard/receipts --max-age 2d --format json
      forkguard verify bin/llama-server --flags "-m target.gguf -c 4096 -np 1"

    Exit status: 0 covered; 1 refused, and why; 2 wrong use; 3 could not look.
    """
    age = None if max_age == ANY_AGE else timedelta(seconds=parse_age(max_age))
    words = split_flags(flags) if flags is not None else ()
    store, signers = _receipts(receipts, allowed_signers, map_file)
    if not store.exists():
        raise CouldNotWork(
            "there is no folder of receipts", where=str(store.root),
            hint="forkguard gate --arch NAME --binary PATH  writes one; --receipts DIR names another",
        )  # fmt: skip
    program = _program(binary)
    question = Question(
        binary=str(binary),
        sha256=hash_file(program),
        arch=arch,
        models=tuple(
            _model(path) for path in dict.fromkeys((*models, *map(Path, flagged_models(words, os.environ))))
        ),
        flags=flag_set(words) if flags is not None else None,
        environment=recorded_environment(os.environ),
        steering=steering_variables(os.environ),
        max_age=age,
        now=clock.now(),
    )
    verifier = SshVerifier(signers) if signers is not None else None
    libraries = functools.cache(lambda: libraries_now(program))
    result = verify(store, question, libraries=libraries, signers=verifier, folder=str(store.root))
    deliver(verify_json(result) if format_ == "json" else verify_text(result), output=output)
    return int(ExitCode.CLEAN if result.refusal is None else ExitCode.FINDING)


def _receipts(receipts: Path | None, signers: Path | None, map_file: Path | None) -> tuple[ReceiptStore, Path | None]:
    """The folder, and who may sign: as asked, else as the map has it. Without a named folder a map is needed."""
    if receipts is not None and map_file is None:
        return ReceiptStore(receipts.expanduser().absolute()), signers
    map_path = chosen_map(map_file)
    named = read_map(map_path).gate.allowed_signers
    if signers is None and named is not None:
        signers = map_path.parent / Path(named).expanduser()
    folder = receipts.expanduser().absolute() if receipts is not None else map_path.parent / STATE_NAME / "receipts"
    return ReceiptStore(folder), signers


def _program(binary: Path) -> Path:
    path = binary.expanduser().absolute()
    if not path.is_file():
        raise CouldNotWork(
            "there is no program at this path", where=str(path), hint="give the path of a llama-server"
        )
    if not os.access(path, os.R_OK):
        raise CouldNotWork("this program cannot be read", where=str(path), hint="run this as a user who may read it")
    return path


def _model(path: Path) -> ModelNow:
    return ModelNow(str(path), read_model(path.expanduser().absolute()).sha256)
