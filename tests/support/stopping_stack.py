"""As `tests.support.stopping`, for the verbs of the stack: killed by SIGKILL just before the n-th file is written."""

import sys

from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.cli import compose_stack, stack_edit, stack_transfer
from forkguard.cli.compose import Project
from forkguard.cli.main import invoke
from tests.support.stopping import COUNTDOWN, StoppingPatchsets


def _store(project: Project) -> PatchsetFolder:
    return StoppingPatchsets(project.patchsets)


if __name__ == "__main__":
    COUNTDOWN.left = int(sys.argv[1])
    setattr(compose_stack, "patchset_store", _store)  # noqa: B010  (the doubles take the adapters' places)
    setattr(stack_edit, "PatchsetFolder", StoppingPatchsets)  # noqa: B010
    setattr(stack_transfer, "patchset_store", _store)  # noqa: B010
    sys.exit(invoke(sys.argv[2:]))
