"""From differences and history to findings: kinds, severities, groups, ids, the place to look at."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby

from forkguard.core.archs import SourceTree
from forkguard.core.commits import Commit
from forkguard.core.differences import Difference, Sort, Trees
from forkguard.core.findings import Finding, Kind, Severity, UpstreamPlace
from forkguard.core.history import Sought, line_key
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.pieces import Piece, PieceKind
from forkguard.core.rules import is_dormant
from forkguard.core.syntax import verbatim

_CONTEXT = 2
_LEFT_BEHIND = (
    "Upstream changed lines of the same form beside it, all in the same way, after the fork had written this one: "
    "a rebase joins that without a conflict."
)
_SINGLE = frozenset({Sort.HAZARD, Sort.WEAKER, Sort.LEFT_BEHIND, Sort.RENAMED})
_LONGEST_TEXT = 60  # lines of one finding's text


@dataclass(frozen=True, slots=True)
class History:
    """Who brought and who took lines.

    `brought`: upstream's path and line to the commit that brought it, `recent` those of them since the base.
    `dropped`: a line of the fork to the upstream commit that removed it since the base; `lost`: a line of
    upstream to the fork's commit that did. `passed`: a line of the fork alone to the upstream commit that changed
    its siblings.
    """

    brought: Mapping[tuple[TreePath, int], Commit] = field(default_factory=dict)
    recent: AbstractSet[CommitHash] = frozenset()
    dropped: Mapping[Sought, Commit] = field(default_factory=dict)
    lost: Mapping[Sought, Commit] = field(default_factory=dict)
    passed: Mapping[Sought, Commit] = field(default_factory=dict)


def first_line(tree: SourceTree, path: TreePath, piece: Piece) -> Sought:
    """How history is searched for a piece: by its first line, and the symbol that it stands in."""
    return Sought(line_key(tree.parse(path).lines[piece.line - 1]), piece.symbol)


def newest(commits: Iterable[Commit]) -> Commit | None:
    """The commit with the latest date, or None for none."""
    return max(commits, key=lambda commit: (commit.moment, commit.id), default=None)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A difference with what history says of it."""

    difference: Difference
    kind: Kind
    severity: Severity
    commit: Commit | None
    lost_in: Commit | None
    remark: str = ""

    @property
    def group(self) -> tuple[object, ...]:
        """Neighbours with the same group are one finding."""
        d = self.difference
        alone = d.rule is not None and not d.rule.block
        entry = (d.theirs or d.ours) is not None and _piece(d).kind in {PieceKind.CASE, PieceKind.COMPARISON}
        mark: object = d if alone or entry or d.sort in _SINGLE else None
        return (d.sort, d.group, d.their_path, d.arch, self.kind, self.commit and self.commit.id, mark)


def findings(differences: Sequence[Difference], trees: Trees, history: History) -> tuple[Finding, ...]:
    """All findings, worst first; the order is the same from run to run."""
    own = {d.arch for d in differences if d.sort is Sort.REWRITTEN and not d.in_base}
    judged = [_judge(difference, trees, history, own) for difference in differences]
    found = [_finding(group, trees, history) for group in _groups(judged)]
    numbered: dict[str, int] = {}
    unique = []
    for finding in found:
        times = numbered[finding.id] = numbered.get(finding.id, 0) + 1
        unique.append(finding if times == 1 else replace(finding, id=f"{finding.id}-{times}"))
    return tuple(sorted(unique, key=_order))


def _order(finding: Finding) -> tuple[object, ...]:
    theirs = finding.upstream.line if finding.upstream else None
    return (finding.also_upstream, finding.severity.rank, finding.path, finding.line or 0, theirs or 0, finding.id)


def _piece(difference: Difference) -> Piece:
    piece = (
        difference.theirs
        if difference.sort in {Sort.MISSING, Sort.REWRITTEN, Sort.RENAMED}
        else difference.ours or difference.theirs
    )
    assert piece is not None  # noqa: S101  (each sort carries its piece)
    return piece


def _judge(difference: Difference, trees: Trees, history: History, own: AbstractSet[str]) -> _Judged:
    d = difference
    rule_severity = d.rule.severity if d.rule else Severity.CHANGE
    if d.sort is Sort.HAZARD:
        return _Judged(d, Kind.HAZARD, rule_severity, _brought(d, history), None)
    if d.sort is not Sort.MISSING:
        return _judge_changed(d, trees, history)
    assert d.theirs is not None  # noqa: S101
    assert d.their_path is not None  # noqa: S101
    lost_in = history.lost.get(first_line(trees.upstream, d.their_path, d.theirs))
    commit = _brought(d, history)
    if d.other_outcome:
        return _Judged(d, Kind.CHANGED, Severity.CHANGE, commit, lost_in)
    if d.in_base and d.replaced and d.rule is None:
        return _Judged(d, Kind.CHANGED, Severity.NOTE, commit, lost_in)
    kind = Kind.LOST if d.in_base or lost_in is not None else Kind.NOT_PORTED
    remark = _mild(d, trees, own) if kind is Kind.NOT_PORTED else ""
    return _Judged(d, kind, Severity.CHANGE if remark else rule_severity, commit, lost_in, remark=remark)


def _judge_changed(d: Difference, trees: Trees, history: History) -> _Judged:
    """A difference of which the fork has its side."""
    severity, commit, remark = Severity.CHANGE, _brought(d, history), ""
    if d.sort is Sort.WEAKER:
        severity = d.rule.severity if d.rule else Severity.CHANGE
    elif d.sort is Sort.RENAMED or (d.sort is Sort.REWRITTEN and not d.in_base):
        severity = Severity.NOTE
    elif d.sort is Sort.LEFT_BEHIND and d.ours is not None:
        severity = Severity.CRASH if "create_tensor" in d.ours.tokens else Severity.CHANGE
        commit, remark = history.passed.get(first_line(trees.fork, d.path, d.ours)), _LEFT_BEHIND
    elif d.sort is Sort.STALE and d.ours is not None:
        commit = history.dropped.get(first_line(trees.fork, d.path, d.ours))
    return _Judged(d, Kind.CHANGED, severity, commit, None, remark=remark)


def _mild(d: Difference, trees: Trees, own: AbstractSet[str]) -> str:
    """Why the lack of what a rule asks for does no harm in this fork; empty where it does."""
    if d.rule is None:
        return ""
    if is_dormant(d.rule, trees.fork):
        return "The fork has nothing yet that reads this: it is part of a feature that the fork lacks as a whole."
    if d.rule.form == "registry" and d.arch in own and d.rule.severity in {Severity.CRASH, Severity.CORRUPTION}:
        return "The fork has an implementation of its own of this arch, which may do without the entry."
    return ""


def _brought(d: Difference, history: History) -> Commit | None:
    if d.theirs is None or d.their_path is None:
        return None
    lines = range(d.theirs.line, d.theirs.last + 1)
    known = (history.brought.get((d.their_path, line)) for line in lines)
    return newest(commit for commit in known if commit is not None)


def _groups(judged: Iterable[_Judged]) -> Iterable[list[_Judged]]:
    """Runs of neighbours that came with one commit."""
    for _, run in groupby(judged, key=lambda one: one.group):
        group: list[_Judged] = []
        for one in run:
            if group and one.difference.index != group[-1].difference.index + 1:
                yield group
                group = []
            group.append(one)
        yield group


def _finding(group: list[_Judged], trees: Trees, history: History) -> Finding:
    head = group[0]
    d = head.difference
    rule = next((one.difference.rule for one in group if one.difference.rule is not None), None)
    severity = min((one.severity for one in group), key=lambda severity: severity.rank)
    text, margin = _text(group, trees)
    digest = hashlib.sha256("\0".join([d.sort.value, d.symbol, *(_piece(o.difference).text for o in group)]).encode())
    upstream = None
    if d.their_path is not None and (head.commit is not None or d.theirs is not None):
        upstream = UpstreamPlace(d.their_path, d.theirs.line if d.theirs else None, head.commit)
    return Finding(
        id=f"{d.arch}/{rule.id if rule else 'statement'}/{digest.hexdigest()[:8]}",
        arch=d.arch,
        rule=rule.id if rule else "statement",
        kind=head.kind,
        severity=severity,
        path=d.path,
        line=d.line,
        symbol=d.symbol or None,
        text=text,
        title=_title(group, rule.title if rule else ""),
        why=" ".join(part for part in (head.remark, rule.why if rule else "") if part),
        upstream=upstream,
        also_upstream=d.both,
        fix=_fix(head, history),
        context=_context(trees.fork, d),
        margin=margin,
        lost_in=head.lost_in,
    )


def _text(group: list[_Judged], trees: Trees) -> tuple[str, int]:
    """The source of the group, verbatim (upstream's where the fork lacks it, else the fork's), and its indent."""
    d = group[0].difference
    theirs = d.sort in {Sort.MISSING, Sort.REWRITTEN, Sort.RENAMED} or d.ours is None
    tree, path = (trees.upstream, d.their_path) if theirs else (trees.fork, d.our_path)
    pieces = [_piece(one.difference) for one in group]
    if path is None:
        return pieces[0].text, 0
    source = tree.files[path]
    start, end = pieces[0].start, max(piece.end for piece in pieces)
    text = verbatim(source, start, _closed(source, start, end))
    lines = text.split("\n")
    margin = start - (source.rfind(b"\n", 0, start) + 1)
    return "\n".join(lines[:_LONGEST_TEXT]), margin


def _closed(source: bytes, start: int, end: int) -> int:
    """`end`, moved over the braces that the stretch opened and that close right behind it."""
    depth = source.count(b"{", start, end) - source.count(b"}", start, end)
    while depth > 0:
        rest = source[end:].lstrip()
        if not rest.startswith(b"}"):
            break
        end = len(source) - len(rest) + 1
        depth -= 1
    return end


def _title(group: list[_Judged], rule_title: str) -> str:
    d, kind = group[0].difference, group[0].kind
    place = f"in {d.symbol}()" if d.symbol and _piece(d).kind is not PieceKind.ENTRY else f"in {d.symbol or d.path}"
    count = "a statement" if len(group) == 1 else f"{len(group)} statements"
    if d.sort is Sort.HAZARD:
        return f"{rule_title}: {d.note}" if d.note else rule_title
    if d.sort is Sort.WEAKER:
        guarded = d.ours and d.theirs and len(d.ours.guards) > len(d.theirs.guards)
        return f"{'only under a condition' if guarded else 'outside the loop'}: {rule_title}"
    if d.sort is Sort.RENAMED:
        return f"upstream exchanged names everywhere: {d.note} {place}"
    if d.sort is Sort.LEFT_BEHIND:
        return f"fork-only line beside siblings that upstream changed: {d.note} {place}"
    if d.sort is Sort.REWRITTEN:
        return f"{'upstream rewrote' if d.in_base else 'the fork has its own'} {d.symbol}(): {d.note}"
    if d.sort is Sort.STALE:
        return f"upstream dropped {count} {place}"
    if kind is Kind.CHANGED:
        return f"upstream has {count} otherwise {place}"
    lacks = "lost" if kind is Kind.LOST else "missing"
    return f"{lacks}: {rule_title}" if rule_title else f"{lacks}: {count} {place}"


def _fix(one: _Judged, history: History) -> str:
    rule, commit = one.difference.rule, one.commit
    if one.difference.sort is Sort.HAZARD and (one.difference.both or commit is None):
        return rule.mend if rule else ""
    if commit is not None and commit.pull is not None and commit.id in history.recent:
        return f"forkguard port {commit.pull}"
    if one.lost_in is not None:
        return f"git show {one.lost_in.id[:12]}"
    return f"git show {commit.id[:12]}" if commit is not None else ""


def _context(tree: SourceTree, d: Difference) -> tuple[tuple[int, str], ...]:
    if d.line is None or d.path not in tree.files:
        return ()
    lines = tree.parse(d.path).lines
    first, last = max(1, d.line - _CONTEXT), min(len(lines), d.line + _CONTEXT - 1)
    return tuple((number, lines[number - 1]) for number in range(first, last + 1))
