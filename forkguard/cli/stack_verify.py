"""`forkguard stack verify`: the stack against its files, its base and the production branch, read only."""

from pathlib import Path

import click

from forkguard.cli.compose import patchset_store
from forkguard.cli.compose_stack import project_base, replay_tools
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.cli.render import rendered
from forkguard.errors import ExitCode
from forkguard.reports.stack_verify import verify_json, verify_text
from forkguard.workflows.stack_verify import verify


@click.command("verify", short_help="Do series, files, exports, base and production branch agree?")
@output_options(("text", "json"))
@project_options
def verify_command(
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """Check the stack against its files, its base and the production branch.

    Series, numbers and files agree; each patch file is what git makes of its commit, byte for byte. The patches
    apply in order to the base; each has its DEP-3 fields; none takes upstream's lines away without saying so
    (removes = ["FILE"] in patchset.toml, a Removes: field, or the file's name in the message); and base plus
    stack is the tree of the production branch, or else the commits that no patchset covers are listed.

    Exit status: 0 the stack is whole; 1 a finding.
    """
    with (
        options.talk() as talk,
        options.opened() as project,
    ):
        report = verify(
            patchset_store(project),
            base=project_base(project),
            fork=project.fork,
            tools=replay_tools(project, talk),
        )
    text = (
        verify_json(report)
        if format_ == "json"
        else rendered(verify_text(report), color=options.color, output=output)
    )
    deliver(text, output=output)
    return int(ExitCode.FINDING if report.findings else ExitCode.CLEAN)
