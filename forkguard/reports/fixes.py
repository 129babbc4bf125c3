"""Missing upstream fixes, as JSON (`forkguard/fixes@1`) and as text."""

import json
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.findings import Base, Side
from forkguard.core.fixes import Fix, Rank
from forkguard.reports.plain import counted, printable

SCHEMA = "forkguard/fixes@1"
_STYLES = {Rank.GRAVE: "bold red", Rank.FIX: "bold yellow", Rank.CHANGE: "cyan", Rank.COSMETIC: "dim"}
_SHOWN = {Rank.GRAVE: 20, Rank.FIX: 20, Rank.CHANGE: 5, Rank.COSMETIC: 0}
_MOST_FILES = 3


def as_json(fixes: Sequence[Fix], *, fork: Side, upstream: Side, base: Base) -> str:
    """One document; `docs/schemas/fixes.json` describes it."""
    document = {
        "schema": SCHEMA,
        "fork": {"ref": fork.ref, "commit": fork.commit},
        "upstream": {"ref": upstream.ref, "commit": upstream.commit},
        "base": {"commit": base.commit, "how": base.how},
        "fixes": [
            {
                "commit": fix.commit.id,
                "pr": fix.commit.pull,
                "date": fix.commit.date,
                "subject": fix.commit.subject,
                "rank": fix.rank.value,
                "kept": fix.kept,
                "touched": fix.touched,
                "files": [{"path": path, "kept": kept} for path, kept in fix.files],
            }
            for fix in fixes
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_text(fixes: Sequence[Fix], *, base: Base, upstream: Side, verbose: bool = False) -> RenderableType:
    """The fixes by rank, gravest first; the less urgent ranks in part, unless `verbose`."""
    head = Text(f"{counted(len(fixes), 'upstream commit')} since {base.commit[:10]} change lines that the fork has")
    head.append(f" (upstream {upstream.ref} {upstream.commit[:10]})", style="dim")
    parts: list[RenderableType] = [head]
    for rank in Rank:
        ranked = [fix for fix in fixes if fix.rank is rank]
        shown = ranked if verbose else ranked[: _SHOWN[rank]]
        if ranked:
            parts += ["", Text(f"{rank.value}: {len(ranked)}", style=_STYLES[rank]), *map(_one, shown)]
        if len(shown) < len(ranked):
            parts.append(Text(f"  {len(ranked) - len(shown)} more with -v", style="dim"))
    return Group(*parts)


def _one(fix: Fix) -> Text:
    number = f"#{fix.commit.pull}" if fix.commit.pull else fix.commit.id[:10]
    text = Text.assemble(
        "  ", (f"{number:<11}", "bold"), f"{fix.commit.date[:10]}  {printable(fix.commit.subject)}\n"
    )
    files = ", ".join(printable(path) for path, _ in fix.files[:_MOST_FILES])
    more = f" and {len(fix.files) - _MOST_FILES} more" if len(fix.files) > _MOST_FILES else ""
    text.append(f"             keeps {fix.kept} of {fix.touched} lines: {files}{more}", style="dim")
    return text
