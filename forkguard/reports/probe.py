"""A written probe and the list of probes, as text and as JSON (`forkguard/probe@1`, `forkguard/probes@1`)."""

import json
import shlex
from collections.abc import Iterable

from forkguard.core.probes.describe import Family
from forkguard.core.probes.drafts import DRAFTS
from forkguard.core.probes.models import ProbeFile, ProbePair
from forkguard.reports.plain import printable

SCHEMA, LIST_SCHEMA = "forkguard/probe@1", "forkguard/probes@1"


def as_text(pair: ProbePair) -> str:
    """The files, and a command that runs them."""
    target, draft = pair.target, pair.draft
    lines = [f"{printable(target.path)}  {target.size / 1000:.0f} kB  target, arch {target.arch}"]
    command = ["llama-server", "-m", target.path]
    if draft is not None:
        lines.append(
            f"{printable(draft.path)}  {draft.size / 1000:.0f} kB  draft, arch {draft.arch}, "
            f"up to {pair.max_width} tokens at once"
        )
        command += ["-md", draft.path]
    command += ["--spec-type", pair.spec_type, "--spec-draft-n-max", "3", *pair.args, "-t", "1"]
    return "\n".join((*lines, f"run {'them' if draft is not None else 'it'}: {shlex.join(command)}"))


def as_json(pair: ProbePair) -> str:
    """One JSON document, `forkguard/probe@1`."""
    document = {
        "schema": SCHEMA,
        "arch": pair.arch,
        "size": pair.size,
        "seed": pair.seed,
        "target": _file(pair.target),
        "draft": _file(pair.draft) if pair.draft is not None else None,
        "spec_type": pair.spec_type,
        "max_width": pair.max_width,
        "args": list(pair.args),
    }
    return json.dumps(document, indent=2)


def list_as_text(families: Iterable[Family]) -> str:
    """One line per probe: its name, kind, sizes and draft types, the usual draft type first."""
    rows = [("ARCH", "KIND", "SIZES", "DRAFTS")]
    rows += [
        (one.name, one.kind, ", ".join(size.name for size in one.sizes), ", ".join(one.drafts)) for one in families
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join((*(word.ljust(width) for word, width in zip(row, widths, strict=False)), row[3])) for row in rows
    ]
    return "\n".join(lines)


def list_as_json(families: Iterable[Family]) -> str:
    """One JSON document, `forkguard/probes@1`."""
    probes = [
        {
            "arch": one.name,
            "architecture": one.architecture,
            "kind": one.kind,
            "sizes": [{"name": size.name, "blocks": size.blocks} for size in one.sizes],
            "drafts": [{"name": word, "spec_type": DRAFTS[word].spec_type} for word in one.drafts],
        }
        for one in families
    ]
    return json.dumps({"schema": LIST_SCHEMA, "probes": probes}, indent=2)


def _file(file: ProbeFile) -> dict[str, str | int]:
    return {"path": file.path, "arch": file.arch, "sha256": file.sha256, "bytes": file.size}
