"""`forkguard stack`: the group of its verbs; each verb's module is imported only when that verb runs."""

import click

from forkguard.cli.groups import LazyGroup

VERBS = {
    "list": ("stack_list:list_command", "The patchsets in their order, with state and size."),
    "show": ("stack_list:show_command", "Everything about one patchset."),
    "replay": ("stack_replay:replay_command", "Try the stack on another upstream commit, in memory."),
    "verify": ("stack_verify:verify_command", "Do series, files, exports, base and production branch agree?"),
    "import": ("stack_transfer:import_command", "Carry a branch, a quilt series, mails or pinned requests."),
    "export": ("stack_transfer:export_command", "The stack as patches, as a bundle or as a branch."),
    "reorder": ("stack_edit:reorder_command", "Put a patchset at another place of the stack."),
    "drop": ("stack_edit:drop_command", "Remove a patchset; its files are kept aside."),
    "disable": ("stack_edit:disable_command", "Leave a patchset out of the stack for now."),
    "enable": ("stack_edit:enable_command", "Take a disabled or retired patchset in again."),
    "retire": ("stack_edit:retire_command", "Take out a patchset that upstream has now."),
    "range-diff": (
        "stack_transfer:range_diff_command",
        "How the stack's patches differ between two upstream commits.",
    ),
}
"""Where each verb is, below `forkguard.cli`, and its summary: --help imports none of them."""


@click.group("stack", cls=LazyGroup, verbs=VERBS, short_help="Show, check, replay and edit the patch stack.")
def command() -> None:
    """The patch stack: the patchsets in the order of patchsets/series that, applied to the base, make the fork.

    \b
    Examples:
      forkguard stack list --onto upstream/master
      forkguard stack show 27383
      forkguard stack verify
      forkguard stack replay --onto upstream/master
    """
