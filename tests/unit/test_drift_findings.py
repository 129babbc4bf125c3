"""From differences and history to findings: kinds, severities, groups, ids, text, surroundings, what mends."""

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.archs import SourceTree
from forkguard.core.commits import Commit
from forkguard.core.differences import Difference, Trees, family
from forkguard.core.drift import History, findings, first_line, newest
from forkguard.core.findings import Base, DriftReport, Finding, Kind, Severity, Side
from forkguard.core.graph_differences import graph_differences
from forkguard.core.history import Sought
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.registry_differences import hazards, registry_differences
from tests.support import mini_llama
from tests.support.drifting import exchanged

HERON = TreePath("src/models/heron.cpp")
OLD = Commit(CommitHash("a" * 40), "2026-01-01T10:00:00+00:00", "old (#1)")
NEW = Commit(CommitHash("b" * 40), "2026-01-02T10:00:00+00:00", "new (#2)")
LOSER = Commit(CommitHash("c" * 40), "2026-01-03T10:00:00+00:00", "ours: tidy")
GRAPH = mini_llama.graph_source("heron", layer_input=True, state=mini_llama.SNAPSHOT_WRITES)


def tree(heron: str) -> SourceTree:
    files = mini_llama.base_tree() | {HERON: heron}
    return SourceTree({TreePath(path): text.encode() for path, text in files.items()})


def trees(*, fork: str, upstream: str = GRAPH, base: str | None = None) -> Trees:
    return Trees(fork=tree(fork), upstream=tree(upstream), base=tree(upstream if base is None else base))


def different(sides: Trees) -> list[Difference]:
    its = family(sides, "heron")
    return [
        *graph_differences(sides, its, bundled_rules(), done=set()),
        *registry_differences(sides, [its], bundled_rules()),
        *hazards(sides, [its], bundled_rules()),
    ]


def found(sides: Trees, history: History | None = None) -> list[Finding]:
    """The findings without the hazards that both sides have."""
    every = findings(different(sides), sides, history or History())
    return [finding for finding in every if not finding.also_upstream]


def brought(commit: Commit, *, recent: bool) -> History:
    """A history in which one commit brought every line of heron.cpp."""
    lines = {(HERON, line): commit for line in range(1, 200)}
    return History(brought=lines, recent=frozenset({commit.id} if recent else ()))


NO_LINE = exchanged(GRAPH, (mini_llama.LAYER_INPUT, ""))


def test_a_missing_line_is_lost_or_not_ported_by_what_the_base_had() -> None:
    (lost,) = found(trees(fork=NO_LINE))
    assert (lost.rule, lost.kind, lost.severity) == ("layer-input", Kind.LOST, Severity.CRASH)
    (came,) = found(trees(fork=NO_LINE, base=NO_LINE))
    assert came.kind is Kind.NOT_PORTED
    assert came.id == lost.id, "an id says which piece, not what became of it"


def test_a_line_that_the_base_had_not_is_lost_when_the_fork_lost_it() -> None:
    sides = trees(fork=NO_LINE, base=NO_LINE)
    key = next(first_line(sides.upstream, d.path, d.theirs) for d in different(sides) if d.theirs and d.rule)
    assert key == Sought("res -> t_layer_inp [ il ] = cur ;", "llama_model_heron::graph::graph")
    (lost,) = found(sides, History(lost={key: LOSER}))
    assert (lost.kind, lost.lost_in) == (Kind.LOST, LOSER)


def test_what_mends_is_the_port_of_what_came_since_the_base_else_the_commit_to_look_at() -> None:
    sides = trees(fork=NO_LINE)
    key = Sought("res -> t_layer_inp [ il ] = cur ;", "llama_model_heron::graph::graph")
    assert found(sides, brought(NEW, recent=True))[0].fix == "forkguard port 2"
    assert found(sides, brought(OLD, recent=False))[0].fix == f"git show {'a' * 12}"
    old = brought(OLD, recent=False)
    assert found(sides, History(old.brought, old.recent, lost={key: LOSER}))[0].fix == f"git show {'c' * 12}"
    assert found(sides)[0].fix == ""


def test_place_text_margin_and_surroundings() -> None:
    (finding,) = found(trees(fork=NO_LINE))
    assert (finding.path, finding.line, finding.margin) == (HERON, 16, 8)
    assert finding.text == "res->t_layer_inp[il] = cur;"
    assert finding.context[1] == (15, "    for (int il = 0; il < n_layer; ++il) {")
    assert [number for number, _ in finding.context] == [14, 15, 16, 17]
    assert finding.upstream is not None
    assert (finding.upstream.path, finding.upstream.line, finding.upstream.commit) == (HERON, 16, None)


def test_neighbours_of_one_commit_are_one_finding_and_others_are_not() -> None:
    more = exchanged(
        GRAPH, ("        ggml_tensor * prev", "        one(il);\n        two(il);\n        ggml_tensor * prev")
    )
    sides = trees(fork=GRAPH, upstream=more, base=GRAPH)
    (one,) = found(sides, brought(NEW, recent=True))
    assert one.text == "one(il);\ntwo(il);"
    assert (one.title, one.why) == ("missing: 2 statements in llama_model_heron::graph::graph()", "")
    lines = {(HERON, 17): NEW, (HERON, 18): OLD}
    apart = found(sides, History(brought=lines))
    assert [(f.text, f.upstream and f.upstream.commit) for f in apart] == [("one(il);", NEW), ("two(il);", OLD)]


def test_a_loop_is_shown_with_its_closing_brace() -> None:
    plain = exchanged(GRAPH, (mini_llama.SNAPSHOT_WRITES, mini_llama.SINGLE_WRITE))
    writes = next(f for f in found(trees(fork=plain, base=plain)) if f.rule == "snapshot-writes")
    assert writes.text.splitlines() == [line[12:] for line in mini_llama.SNAPSHOT_WRITES.splitlines()]
    assert writes.margin == 12


def test_ids_hold_no_line_and_tell_equals_apart() -> None:
    before = {finding.id for finding in found(trees(fork=NO_LINE))}
    assert {finding.id for finding in found(trees(fork="// ours\n" * 7 + NO_LINE, upstream="\n\n" + GRAPH))} == before
    more = exchanged(
        GRAPH, ("        ggml_tensor * prev", "        one(il);\n        ggml_tensor * prev"),
        ("    res->t_embd", "    one(il);\n    res->t_embd"),
    )  # fmt: skip
    first, second = sorted(finding.id for finding in found(trees(fork=GRAPH, upstream=more, base=GRAPH)))
    assert second == f"{first}-2"


def test_the_newest_commit_is_by_point_in_time() -> None:
    east = Commit(CommitHash("d" * 40), "2026-01-02T11:00:00+05:00", "x")
    assert newest([OLD, NEW, east]) == NEW
    assert newest([]) is None


def test_a_file_in_another_encoding_and_with_odd_line_ends_is_shown_all_the_same() -> None:
    odd = NO_LINE.replace("\n", "\r\n")
    (finding,) = found(trees(fork=odd))
    assert all("\r" not in line for _, line in finding.context)
    assert finding.line == 16


# -- what counts ---------------------------------------------------------------------------------------


def finding(kind: Kind = Kind.LOST, severity: Severity = Severity.SLOW, *, also: bool = False) -> Finding:
    path = TreePath("x.cpp")
    return Finding("a/b/00000000", "a", "b", kind, severity, path, 1, None, "x;", "t", also_upstream=also)


def report(*its: Finding) -> DriftReport:
    side = Side("x", CommitHash("a" * 40))
    return DriftReport(side, side, Base(side.commit, "merge-base"), (), its)


def test_accepted_findings_notes_and_upstreams_hazards_do_not_count_unless_strict() -> None:
    assert not report(finding()).clean()
    for one in (
        finding(Kind.ACCEPTED, Severity.CRASH),
        finding(Kind.CHANGED, Severity.NOTE),
        finding(Kind.HAZARD, Severity.CRASH, also=True),
    ):
        assert report(one).clean()
        assert not report(one).clean(strict=True)
    assert not report(finding(Kind.HAZARD, Severity.CRASH)).clean()
    assert report().clean(strict=True)


def test_severities_are_ordered_worst_first() -> None:
    assert [severity.value for severity in sorted(Severity, key=lambda one: one.rank)] == [
        "crash", "corruption", "slow", "change", "note",
    ]  # fmt: skip
