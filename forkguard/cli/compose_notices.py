"""Who is told of a night: as the map says, and GitHub where the night runs as one of its actions."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from forkguard.adapters.nights import NightFolder
from forkguard.adapters.notify import append_summary, post, run_command
from forkguard.cli.github_log import command, is_workflow
from forkguard.core.map_models import NightlyTable
from forkguard.core.nightly import Night
from forkguard.core.notices import notice, worth_telling
from forkguard.reports.nightly import github_annotations, next_steps, nightly_markdown

_LOOKED_BACK = 4000


def tell_people(night: Night, nights: NightFolder, settings: NightlyTable, *, root: Path) -> Night:
    """Tell whom the map names, if the night is worth it, and put into the record whether that worked."""
    ways = _ways(night, nights, settings, root=root)
    if not ways:
        return night
    earlier = (one for one in islice(nights.newest_first(), _LOOKED_BACK) if one.id != night.id)
    if not worth_telling(night, earlier, policy=settings.notify):
        return night
    problems = tuple(problem for way in ways if (problem := way()))
    told = replace(night, notified=not problems, notes=(*night.notes, *problems))
    nights.finish(told)
    return told


def _ways(night: Night, nights: NightFolder, settings: NightlyTable, *, root: Path) -> list[Callable[[], str]]:
    body = notice(night, steps=next_steps(night))
    ways: list[Callable[[], str]] = []
    if settings.notify_command:
        facts = {"FORKGUARD_VERDICT": night.verdict.value, "FORKGUARD_RECORD": str(nights.path(night.id))}
        ways.append(lambda: run_command(settings.notify_command, body, facts=facts, cwd=root))
    if (url := settings.webhook) is not None:
        ways.append(lambda: post(url, body, delivery=night.id, key_name=settings.webhook_secret))
    return ways


def tell_github(night: Night) -> None:
    """The step summary and annotations, where this is a step of a GitHub workflow."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and (problem := append_summary(Path(summary), nightly_markdown(night))):
        print(problem, file=sys.stderr)
    if is_workflow():
        command(github_annotations(night))
