"""The wiring matrix of two commits: read both trees, ask each rule of each arch."""

from collections.abc import Sequence

from forkguard.core.findings import Side
from forkguard.core.rules import Rule
from forkguard.core.wiring import WiringReport, draft_needs, draft_types, features, named_archs, row
from forkguard.errors import UsageProblem
from forkguard.ports import Repository, Talk
from forkguard.workflows.drift import read_trees


def run_wiring(
    repo: Repository,
    *,
    fork: Side,
    upstream: Side,
    archs: Sequence[str] | None,
    draft: str | None,
    rules: Sequence[Rule],
    talk: Talk,
) -> WiringReport:
    """The matrix for the archs (None: all that either tree makes a model of), and for one draft type if it is named.

    Raises `UsageProblem` for a draft type that no rule speaks of, and what `Repository` raises.
    """
    chosen = _draft_type(draft, rules)
    talk.step("reading both trees")
    trees = read_trees(repo, fork=fork.commit, upstream=upstream.commit, base=upstream.commit)
    columns, remarks = features(rules, fork=trees.fork, upstream=trees.upstream, draft=chosen)
    names = named_archs(trees.fork, trees.upstream) if archs is None else tuple(dict.fromkeys(archs))
    known = {rule.id: rule for rule in rules}
    rows = []
    for number, name in enumerate(names):
        talk.progress(number, len(names), f"looking at {name}")
        rows.append(row(name, columns, known, fork=trees.fork, upstream=trees.upstream))
    needs = draft_needs(chosen, columns, rows) if chosen is not None else None
    return WiringReport(fork, upstream, columns, tuple(rows), needs, remarks)


def _draft_type(draft: str | None, rules: Sequence[Rule]) -> str | None:
    """The type as `--spec-type` spells it; `dspark` stands for `draft-dspark`."""
    if draft is None:
        return None
    known = draft_types(rules)
    for spelled in (draft, f"draft-{draft}"):
        if spelled in known:
            return spelled
    raise UsageProblem(
        f"no wiring rule speaks of the draft type {draft}", where="--draft", hint=f"the types are: {', '.join(known)}"
    )
