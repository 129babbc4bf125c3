"""What drift says of each arch as a whole, and of what it could not check."""

import difflib
from collections.abc import Iterable, Sequence

from forkguard.core.archs import Arch, SourceTree
from forkguard.core.differences import Trees, broken_files
from forkguard.core.findings import ArchReport, ArchStatus, Finding
from forkguard.core.registry_differences import SPECULATIVE
from forkguard.core.rules import Rule, is_armed

_MOST_NAMED = 12


def every_arch(tree: SourceTree) -> tuple[str, ...]:
    """Every arch that a tree makes a model of; placeholders are left out (all archs where none has a class)."""
    archs = tree.archs.archs
    made = tuple(name for name, arch in archs.items() if arch.cls is not None)
    return made or tuple(archs)


def is_present(name: str, trees: Trees) -> bool:
    """Whether the fork has the arch: named, and with a model class unless upstream makes none either."""
    ours, theirs = trees.fork.archs.archs.get(name), trees.upstream.archs.archs.get(name)
    return ours is not None and (ours.cls is not None or theirs is None or theirs.cls is None)


def absent_arch(name: str, trees: Trees) -> ArchReport:
    """The report on an arch that the fork has not, with names that are like it."""
    theirs = trees.upstream.archs.archs.get(name)
    if name in trees.fork.archs.archs:
        return ArchReport(name, ArchStatus.ABSENT, (), "the fork names it, but makes no model class for it")
    alike = difflib.get_close_matches(name, [*trees.fork.archs.archs], n=3, cutoff=0.6)
    remark = "upstream has it" if theirs else "upstream has no such arch either"
    if alike:
        remark += f"; the fork has {', '.join(alike)}: did you mean {'that' if len(alike) == 1 else 'one of these'}?"
    return ArchReport(name, ArchStatus.ABSENT, theirs.files if theirs else (), remark)


def present_arch(name: str, trees: Trees, found: Sequence[Finding]) -> ArchReport:
    """The report on an arch that the fork has."""
    arch = trees.fork.archs.archs[name]
    remark = f"its graph is {arch.graph_of}'s" if arch.graph_of else ""
    if name not in trees.upstream.archs.archs:
        remark = "upstream has no arch of this name"
    return ArchReport(name, _status(name, found), arch.files, remark)


def speculative_report(found: Sequence[Finding]) -> ArchReport:
    """The report on lists of speculative types, which stand beside the archs."""
    return ArchReport(SPECULATIVE, _status(SPECULATIVE, found), (), "lists of speculative types, not an arch")


def _status(name: str, found: Sequence[Finding]) -> ArchStatus:
    counted = any(finding.arch == name and finding.counts(strict=False) for finding in found)
    return ArchStatus.DRIFT if counted else ArchStatus.CLEAN


def upstream_alone(trees: Trees) -> tuple[str, ...]:
    """A remark on the archs that upstream makes models of and the fork does not know, by name or by enum."""
    known: set[str] = {*trees.fork.archs.archs, *(arch.enum for arch in trees.fork.archs.archs.values())}
    theirs = trees.upstream.archs.archs
    new = [name for name in every_arch(trees.upstream) if known.isdisjoint((name, theirs[name].enum))]
    if not new:
        return ()
    more = f" and {len(new) - _MOST_NAMED} more" if new[_MOST_NAMED:] else ""
    count = "1 arch" if len(new) == 1 else f"{len(new)} archs"
    return (f"upstream has {count} that the fork has not: {', '.join(new[:_MOST_NAMED])}{more}",)


def unread_files(trees: Trees, names: Iterable[str]) -> list[str]:
    """A remark on each file of the fork that was read only in part."""
    archs: list[Arch] = [trees.fork.archs.archs[name] for name in sorted(names) if name in trees.fork.archs.archs]
    return [
        f"{path} has a syntax error; what the parser could not read was compared as words"
        for path in broken_files(trees.fork, archs)
    ]


def disarmed_rules(rules: Sequence[Rule], tree: SourceTree) -> dict[str, str]:
    """The rules that check nothing, each with the reason: their subject is not in upstream's tree any more.

    A pair or a consensus is disarmed with either of its features.
    """
    known = {rule.id: rule for rule in rules}
    reasons: dict[str, str] = {}
    for rule in rules:
        if rule.form == "registry" and not is_armed(rule, tree):
            reasons[rule.id] = f"upstream has no {rule.symbol}"
        elif rule.form == "statement" and not is_armed(rule, tree):
            reasons[rule.id] = "nothing in upstream matches its query"
    for rule in rules:
        for feature in (rule.given, rule.needs):
            if feature and feature not in known:
                reasons.setdefault(rule.id, f"it needs {feature}, which is disabled")
            elif feature in reasons:
                reasons.setdefault(rule.id, f"it needs {feature}, which is disarmed")
    return reasons
