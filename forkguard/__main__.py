"""`python -m forkguard` is the same program as the `forkguard` script."""

from forkguard.cli.main import run

run()
