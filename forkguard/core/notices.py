"""When somebody is told of a night, and what. The JSON contract is notice@1."""

import json
from collections.abc import Iterable
from typing import Any

from forkguard.core.nightly import Night, NightVerdict

SCHEMA = "forkguard/notice@1"


def worth_telling(night: Night, earlier: Iterable[Night], *, policy: str) -> bool:
    """Whether a night is told: a new story, the first green one behind others, or one that nobody could be told yet.

    `earlier` are the nights before it, newest first; `policy` is `[nightly] notify` (`always` tells every night).
    """
    if policy == "always":
        return True
    before = iter(earlier)
    if night.verdict is NightVerdict.GREEN:
        last = next(before, None)
        return last is not None and (last.verdict is not NightVerdict.GREEN or last.notified is False)
    for number, one in enumerate(before):
        if number >= night.repeats or one.story != night.story:
            break
        if one.notified:
            return False
    return True


def notice(night: Night, *, steps: Iterable[str]) -> str:
    """What is told, as one JSON document; `steps` are the commands to type next."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "night": night.id,
        "verdict": night.verdict.value,
        "reason": night.reason,
        "story": night.story,
        "repeats": night.repeats,
        "days_red": night.days_red,
        "started": night.started,
        "finished": night.finished,
        "fork": None if night.fork is None else {"ref": night.fork.ref, "commit": night.fork.commit},
        "upstream": None if night.upstream is None else {"ref": night.upstream.ref, "commit": night.upstream.to},
        "candidate": None if night.candidate is None else night.candidate.branch,
        "failing": [f"{patch.label}: {patch.status.value}" for patch in night.stack if patch.status.failed],
        "next": list(steps),
    }
    return json.dumps(document, ensure_ascii=False)
