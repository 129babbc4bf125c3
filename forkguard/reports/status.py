"""The status report as text and as JSON (`forkguard/status@1`)."""

import json

from forkguard.core.commits import Commit
from forkguard.core.nightly import NightVerdict
from forkguard.core.open_work import OpenWork
from forkguard.core.status import NightSummary, ReceiptSummary, StackEntry, StatusReport
from forkguard.core.watchdog import Watch
from forkguard.reports.plain import counted, printable

SCHEMA = "forkguard/status@1"
_ID = 12
_MOST_SHOWN = 10


def status_json(report: StatusReport) -> str:
    """One JSON document; `docs/schemas/status.json` is its schema."""
    base, receipt, watch = report.base, report.receipt, report.watch
    document = {
        "schema": SCHEMA,
        "fork": {"ref": report.fork.ref, "commit": report.fork.commit},
        "upstream": {"ref": report.upstream.ref, "commit": report.upstream.commit},
        "base": {
            "commit": base.commit,
            "how": base.how,
            "date": report.base_commit.date,
            "subject": report.base_commit.subject,
            "equal": base.equal,
            "total": base.total,
        },
        "behind": report.behind,
        "ahead": report.ahead,
        "uncovered": [_uncovered_document(each) for each in report.uncovered],
        "stack": [_stack_document(each) for each in report.stack],
        "nightly": _nightly_document(report.nightly) if report.nightly is not None else None,
        "watch": _watch_document(watch) if watch is not None else None,
        "receipt": _receipt_document(receipt) if receipt is not None else None,
        "open": [{"what": each.what, "where": each.where, "next": each.hint} for each in report.open],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _uncovered_document(commit: Commit) -> dict[str, object]:
    return {"commit": commit.id, "date": commit.date, "subject": commit.subject, "pr": commit.pull}


def _stack_document(one: StackEntry) -> dict[str, object]:
    return {"patchset": one.name, "title": one.title, "state": one.state, "pr": one.pull, "patches": one.patches}


def _watch_document(watch: Watch) -> dict[str, object]:
    return {"max_age_hours": watch.max_age.total_seconds() / 3600, "stale": watch.stale}


def _receipt_document(last: ReceiptSummary) -> dict[str, object]:
    return {"path": last.path, "verdict": last.verdict, "started": last.started, "commit": last.commit}


def _nightly_document(last: NightSummary) -> dict[str, object]:
    night = last.night
    return {
        "path": last.path,
        "id": night.id,
        "verdict": night.verdict.value,
        "reason": night.reason,
        "started": night.started,
        "finished": night.finished,
        "days_red": night.days_red,
        "repeats": night.repeats,
        "candidate": night.candidate.branch if night.candidate is not None else None,
    }


def status_text(report: StatusReport) -> str:
    """A screen for a person."""
    base = report.base
    likeness = f", {base.equal} of {base.total} files equal" if base.equal is not None else ""
    lines = [
        f"fork      {report.fork.ref} at {report.fork.commit[:_ID]}",
        f"upstream  {report.upstream.ref} at {report.upstream.commit[:_ID]}",
        f"base      {_line(report.base_commit)}  (by {base.how}{likeness})",
        f"          {counted(report.behind, 'commit')} behind, {report.ahead} ahead",
        *_stack(report),
        *_uncovered(report),
        *_nightly(report),
        _receipt(report),
        *(line for each in report.open for line in _open(each)),
    ]
    return "\n".join(lines) + "\n"


def _line(commit: Commit) -> str:
    return f"{commit.id[:_ID]} {commit.date[:10]} {printable(commit.subject)}"


def _stack(report: StatusReport) -> list[str]:
    if not report.stack:
        return ["stack     no patchsets"]
    rows = [(each.name, each.state, counted(each.patches, "patch", "patches")) for each in report.stack]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [f"stack     {counted(len(rows), 'patchset')}"] + [
        "  "
        + "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True))
        + f"  {printable(each.title)}"
        for row, each in zip(rows, report.stack, strict=True)
    ]


def _uncovered(report: StatusReport) -> list[str]:
    if not report.uncovered:
        return ["uncovered none: a patchset covers every commit of the fork"] if report.ahead else []
    count = len(report.uncovered)
    lines = [f"uncovered {counted(count, 'commit')} of the fork that no patchset covers"]
    lines += [f"  {_line(commit)}" for commit in report.uncovered[:_MOST_SHOWN]]
    return lines + ([f"  and {count - _MOST_SHOWN} more (--format json lists all)"] if count > _MOST_SHOWN else [])


def _nightly(report: StatusReport) -> list[str]:
    stale = [f"          stale: {report.watch.stale}"] if report.watch is not None and report.watch.stale else []
    if report.nightly is None:
        return ["nightly   none yet", *stale]
    night = report.nightly.night
    words = "could not run" if night.verdict is NightVerdict.COULD_NOT_RUN else night.verdict.value
    lines = [f"nightly   {words}, {night.started}: {printable(night.reason)}"]
    if night.verdict is not NightVerdict.GREEN:
        again = f", the same for {counted(night.repeats + 1, 'night')}" if night.repeats else ""
        lines.append(f"          not green for {counted(night.days_red, 'day')}{again}: {report.nightly.path}")
    if night.candidate is not None:
        lines.append(f"          {night.candidate.branch}")
    return lines + stale


def _open(work: OpenWork) -> list[str]:
    where = f" in {printable(work.where)}" if work.where else ""
    return [f"open      {printable(work.what)}{where}", f"          {work.hint}"]


def _receipt(report: StatusReport) -> str:
    if report.receipt is None:
        return "receipt   none yet"
    of = f" of {report.receipt.commit[:_ID]}" if report.receipt.commit else ""
    return f"receipt   {printable(report.receipt.verdict)}{of}, {report.receipt.started}: {report.receipt.path}"
