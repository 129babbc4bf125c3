"""A written probe pair as text and as JSON (`forkguard/probe@1`)."""

import json
import shlex

from forkguard.core.probes.models import ProbePair
from forkguard.reports.plain import printable

SCHEMA = "forkguard/probe@1"


def as_text(pair: ProbePair) -> str:
    """The two files, and a command that runs them."""
    target, draft = pair.target, pair.draft
    return (
        f"{printable(target.path)}  {target.size / 1000:.0f} kB  target, arch {target.arch}\n"
        f"{printable(draft.path)}  {draft.size / 1000:.0f} kB  draft, arch {draft.arch}, "
        f"up to {pair.max_width} tokens at once\n"
        f"run them: llama-server -m {shlex.quote(target.path)} -md {shlex.quote(draft.path)}"
        f" --spec-type {pair.spec_type} --spec-draft-n-max 3 -t 1"
    )


def as_json(pair: ProbePair) -> str:
    """One JSON document, `forkguard/probe@1`."""
    files = {
        role: {"path": file.path, "arch": file.arch, "sha256": file.sha256, "bytes": file.size}
        for role, file in (("target", pair.target), ("draft", pair.draft))
    }
    document = {"schema": SCHEMA, "arch": pair.arch, "size": pair.size, "seed": pair.seed, **files}
    return json.dumps({**document, "spec_type": pair.spec_type, "max_width": pair.max_width}, indent=2)
