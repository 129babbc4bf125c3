"""Drift reports made by hand, for the tests of what is written from them."""

from forkguard.core.commits import Commit
from forkguard.core.findings import (
    ArchReport,
    ArchStatus,
    Base,
    DriftReport,
    Finding,
    Kind,
    Severity,
    Side,
    UpstreamPlace,
)
from forkguard.core.names import CommitHash, TreePath

FORK, UPSTREAM, BASE = (CommitHash(letter * 40) for letter in "abc")


def commit(subject: str = "heron : wire it (#7)") -> Commit:
    """A commit of upstream's; its subject may end in the number of its pull request."""
    return Commit(CommitHash("d" * 40), "2026-03-01T10:00:00+00:00", subject)


def finding(
    name: str = "heron/layer-input/00000001",
    *,
    severity: Severity = Severity.CRASH,
    kind: Kind = Kind.NOT_PORTED,
    path: str = "src/models/heron.cpp",
    line: int | None = 12,
    text: str = "res->t_layer_inp[il] = cur;",
    title: str = "missing: the layer loop publishes its input",
    by: Commit | None = None,
    also_upstream: bool = False,
    ledger: str | None = None,
    baselined: bool = False,
    fix: str = "forkguard port 7",
    why: str = "Drafts read it.",
) -> Finding:
    """One finding; its arch and its rule are those of its id."""
    arch, rule, _ = name.split("/")
    return Finding(
        id=name, arch=arch, rule=rule, kind=kind, severity=severity, path=TreePath(path), line=line,
        symbol="llama_model_heron::graph::graph", text=text, title=title, why=why,
        upstream=UpstreamPlace(TreePath(path), 13, by or commit()), also_upstream=also_upstream, ledger=ledger,
        baselined=baselined, fix=fix,
    )  # fmt: skip


def report(
    *findings: Finding,
    absent: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    disarmed: tuple[str, ...] = (),
    archs: tuple[str, ...] = ("heron",),
) -> DriftReport:
    """A report with these findings on these archs; the fork has the `absent` ones not."""
    drifting = {one.arch for one in findings if one.counts(strict=False)}
    rows = [
        ArchReport(name, ArchStatus.DRIFT if name in drifting else ArchStatus.CLEAN, (TreePath("src/models/x.cpp"),))
        for name in archs
    ]
    rows += [ArchReport(name, ArchStatus.ABSENT, (), "upstream has it") for name in absent]
    return DriftReport(
        Side("production", FORK), Side("upstream/master", UPSTREAM), Base(BASE, "merge-base"), tuple(rows),
        tuple(findings), warnings, disarmed,
    )  # fmt: skip
