"""Where the records of nights are; kept apart from `compose_nightly`, so that looking at them loads nothing else."""

from forkguard.adapters.nights import NightFolder
from forkguard.cli.compose import Project

NIGHTS = "nightly"


def night_folder(project: Project) -> NightFolder:
    """The records of the project's nights."""
    return NightFolder(project.state / NIGHTS)
