"""The wiring matrix as JSON (`forkguard/wiring@1`), text and Markdown."""

import json
import shlex
import textwrap
from collections.abc import Iterator
from string import ascii_uppercase
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.wiring import ArchPlace, Cell, DraftNeeds, Presence, WiringReport, WiringRow
from forkguard.reports.drift_markdown import code
from forkguard.reports.plain import counted, printable

SCHEMA = "forkguard/wiring@1"
_SIGNS = {
    Presence.YES: "yes",
    Presence.BRANCH: "branch",
    Presence.NO: "no",
    Presence.NOT_NEEDED: "-",
    Presence.NO_ARCH: "",
}
_PLACES = {
    ArchPlace.BOTH: "",
    ArchPlace.FORK: "the fork's own",
    ArchPlace.UPSTREAM: "not in the fork",
    ArchPlace.NEITHER: "in neither tree",
}
_WIDTH = 110


def wiring_json(report: WiringReport) -> str:
    """The contract `forkguard/wiring@1`; see `docs/schemas/wiring.json`."""
    draft = report.draft
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "fork": {"ref": report.fork.ref, "commit": report.fork.commit},
        "upstream": {"ref": report.upstream.ref, "commit": report.upstream.commit},
        "features": [
            {"id": rule.id, "form": rule.form, "title": rule.title, "severity": rule.severity.value,
             "drafts": list(rule.drafts), "among": rule.among or None}
            for rule in report.features
        ],
        "archs": [_row_document(row) for row in report.rows],
        "draft": None if draft is None else _draft_document(draft),
        "warnings": list(report.warnings),
        "summary": {
            "archs": len(report.rows),
            "differ": sum(row.differs for row in report.rows),
            "cells_that_differ": sum(cell.differs for row in report.rows for cell in row.cells.values()),
        },
    }  # fmt: skip
    return json.dumps(document, indent=2)


def _row_document(row: WiringRow) -> dict[str, Any]:
    cells = {
        name: {"fork": cell.fork.value, "upstream": cell.upstream.value, "differs": cell.differs}
        for name, cell in row.cells.items()
    }
    return {"name": row.name, "in": row.place.value, "graph_of": row.graph_of, "cells": cells}


def _draft_document(draft: DraftNeeds) -> dict[str, Any]:
    lacks = [
        {"arch": lack.arch, "features": list(lack.features), "upstream_ready": lack.upstream_ready}
        for lack in draft.lacks
    ]
    return {"type": draft.type, "needs": list(draft.features), "ready": list(draft.ready), "lacks": lacks}


# -- text ----------------------------------------------------------------------------------------------


def wiring_text(report: WiringReport) -> RenderableType:
    """For a terminal: what differs first, a letter for each feature; a cell that differs reads fork/upstream."""
    differing = [row for row in report.rows if row.differs]
    same = [row for row in report.rows if not row.differs]
    parts: list[Text] = [_head(report), Text(), *_legend(report), Text()]
    if report.draft is not None:
        parts += [*_draft(report.draft), Text()]
    if differing:
        parts += [Text("Fork and upstream differ (fork/upstream)", style="bold"), *_table(report, differing), Text()]
    if same:
        parts += [Text("The same in both", style="bold"), *_table(report, same), Text()]
    parts += [Text(f"note: {warning}", style="dim") for warning in report.warnings]
    parts += _next(differing)
    return Group(*map(_shown, parts))


def _shown(text: Text) -> Text:
    """The text without terminal controls."""
    text.plain = "".join(letter if letter == "\n" else printable(letter) for letter in text.plain)
    return text


def _head(report: WiringReport) -> Text:
    cells = sum(cell.differs for row in report.rows for cell in row.cells.values())
    verdict = f"{counted(cells, 'cell')} differ" if cells > 1 else "1 cell differs" if cells else "nothing differs"
    text = Text(f"{counted(len(report.rows), 'arch')}: {verdict}\n", style="bold red" if cells else "bold green")
    text.append(
        f"fork {report.fork.ref} {report.fork.commit[:10]}, "
        f"upstream {report.upstream.ref} {report.upstream.commit[:10]}",
        style="dim",
    )
    return text


def _legend(report: WiringReport) -> Iterator[Text]:
    for letter, rule in zip(_letters(len(report.features)), report.features, strict=True):
        yield Text(f"  {letter:<2} {rule.id}: {rule.title}")
    yield Text("  branch: only inside a branch; -: no, and the feature matters to other archs only", style="dim")


def _letters(number: int) -> list[str]:
    """Names of columns, as a spreadsheet has them: A to Z, AA, AB."""
    return [
        (ascii_uppercase[index // 26 - 1] if index >= 26 else "") + ascii_uppercase[index % 26]
        for index in range(number)
    ]


def _draft(draft: DraftNeeds) -> Iterator[Text]:
    yield Text(f"{draft.type} needs {', '.join(draft.features) or 'nothing that a rule knows'}", style="bold")
    yield Text(f"  ready: {', '.join(draft.ready)}" if draft.ready else "  no arch of the fork is ready for it")
    lost = [lack for lack in draft.lacks if lack.upstream_ready]
    for lack in lost:
        yield Text(f"  {lack.arch} lacks {', '.join(lack.features)}; upstream has all of it", style="bold red")
    rest: dict[tuple[str, ...], list[str]] = {}
    for lack in draft.lacks[len(lost) :]:
        rest.setdefault(lack.features, []).append(lack.arch)
    for features, archs in rest.items():
        told = f"{counted(len(archs), 'arch')} without {', '.join(features)}, upstream not ready either"
        yield Text(
            textwrap.fill(
                f"{told}: {', '.join(archs)}",
                _WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            )
        )


def _table(report: WiringReport, rows: list[WiringRow]) -> Iterator[Text]:
    names = [rule.id for rule in report.features]
    widths = [max([2, *(len(_sign(row.cells[name])) for row in rows)]) for name in names]
    first = max(len(row.name) for row in rows)
    letters = zip(_letters(len(names)), widths, strict=True)
    yield Text(f"  {'':<{first}}  " + "  ".join(f"{letter:<{width}}" for letter, width in letters), style="dim")
    for row in rows:
        text = Text(f"  {row.name:<{first}}")
        for name, width in zip(names, widths, strict=True):
            cell = row.cells[name]
            text.append("  ").append(f"{_sign(cell):<{width}}", style="bold red" if cell.differs else "")
        remarks = [_PLACES[row.place], f"graph of {row.graph_of}" if row.graph_of else ""]
        text.append("  " + ", ".join(remark for remark in remarks if remark), style="dim")
        text.rstrip()
        yield text


def _sign(cell: Cell) -> str:
    if cell.differs:
        return f"{_SIGNS[cell.fork]}/{_SIGNS[cell.upstream]}"
    return _SIGNS[cell.upstream if cell.fork is Presence.NO_ARCH else cell.fork]


def _next(differing: list[WiringRow]) -> Iterator[Text]:
    if differing:
        archs = " ".join(f"--arch {shlex.quote(row.name)}" for row in differing[:3])
        yield Text("Next", style="bold")
        yield Text(f"  forkguard drift {archs}    says who brought what differs, and how to mend it")


# -- markdown ------------------------------------------------------------------------------------------


def wiring_markdown(report: WiringReport) -> str:
    """One table; what differs is bold, and its rows come first."""
    lines = [f"### forkguard wiring: {_head(report).plain.splitlines()[0]}", ""]
    lines.append(
        f"Fork {code(report.fork.ref)} at {code(report.fork.commit[:10])}, "
        f"upstream {code(report.upstream.ref)} at {code(report.upstream.commit[:10])}."
    )
    if report.draft is not None:
        lines += ["", *_markdown_draft(report.draft)]
    lines += ["", f"| arch | {' | '.join(rule.id for rule in report.features)} |"]
    lines.append("|---" * (len(report.features) + 1) + "|")
    for row in sorted(report.rows, key=lambda row: not row.differs):
        cells = [
            f"**{_sign(cell)}**" if cell.differs else _sign(cell)
            for cell in (row.cells[rule.id] for rule in report.features)
        ]
        lines.append("| " + " | ".join([code(row.name).replace("|", "\\|"), *cells]) + " |")
    lines += ["", *(f"- note: {code(warning)}" for warning in report.warnings)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_draft(draft: DraftNeeds) -> Iterator[str]:
    yield f"{code(draft.type)} needs {', '.join(map(code, draft.features)) or 'nothing that a rule knows'}."
    yield f"Ready: {', '.join(map(code, draft.ready)) or 'no arch of the fork'}."
    for lack in (lack for lack in draft.lacks if lack.upstream_ready):
        yield f"- **{code(lack.arch)}** lacks {', '.join(map(code, lack.features))}; upstream has all of it"
