"""Known faults that are put into a tree on purpose: each is a few edits, found by syntax, and what the gate must say.

A mutation whose subject a tree does not have (the statement, the entry, the function) gives no edits there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from forkguard.core.archs import Arch, SourceTree
from forkguard.core.gate import CheckName, Verdict
from forkguard.core.names import TreePath
from forkguard.core.pieces import Piece, PieceKind
from forkguard.core.rules import Rule, matches, statement_matches
from forkguard.core.syntax import Unit

SOURCE_FOLDERS = ("src", "common", "tools/server")
"""Where mutations look for their subjects."""

FEWEST = 6
"""A self-test of all mutations in which the gate was red for fewer proves nothing."""

ENOUGH_DECODES = 8
"""Decodes that a server makes before the null pointer is used: more than loading takes, fewer than one answer."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` of a file, and what stands there afterwards."""

    path: TreePath
    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Subject:
    """What a mutation works on: a tree's sources, the arch in it, and the wiring rules by id."""

    tree: SourceTree
    arch: Arch
    rules: Mapping[str, Rule]


@dataclass(frozen=True, slots=True)
class Expected:
    """The check that must not pass, the classes that it may have, and the verdicts."""

    check: CheckName
    kinds: frozenset[str]
    verdicts: frozenset[Verdict] = frozenset({Verdict.FAIL})

    def __str__(self) -> str:
        return f"{self.check}: {' or '.join(sorted(self.kinds))}"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One fault. `subject` names what it changes, for the case that a tree lacks it.

    `probe` and `widths` are the probe's size and the draft widths that show the fault (none: those of the gate);
    `fallback_fails` asks the gate to fail on fallbacks; `timeout` bounds one request, in seconds.
    """

    name: str
    title: str
    subject: str
    expected: Expected
    find: Callable[[Subject], tuple[Edit, ...]] = field(repr=False)
    probe: str = ""
    widths: tuple[int, ...] = ()
    fallback_fails: bool = False
    timeout: float | None = None


def mutated(files: Mapping[TreePath, bytes], edits: Sequence[Edit]) -> dict[TreePath, bytes]:
    """The files that the edits change, changed. Raises `ValueError` for edits that overlap."""
    changed: dict[TreePath, bytes] = {}
    for path in {edit.path for edit in edits}:
        source, pieces, at = files[path], [], 0
        for edit in sorted((edit for edit in edits if edit.path == path), key=lambda edit: (edit.start, edit.end)):
            if edit.start < at:
                raise ValueError(f"edits of {path} overlap")
            pieces += [source[at : edit.start], edit.text]
            at = edit.end
        changed[path] = b"".join([*pieces, source[at:]])
    return changed


# -- finding places --------------------------------------------------------------------------------------


def functions(tree: SourceTree, name: str) -> Iterator[tuple[TreePath, Unit, Node]]:
    """The definitions of functions whose last name is `name`, each with its body."""
    for path in tree.mentioning(name.encode()):
        for unit in tree.parse(path).units:
            body = unit.node.child_by_field_name("body") if unit.node is not None else None
            if body is not None and body.type == "compound_statement" and unit.symbol.rsplit("::", 1)[-1] == name:
                yield path, unit, body


def _below(node: Node, kind: str) -> Iterator[Node]:
    """The nodes of a kind below a node, in source order."""
    for child in node.named_children:
        if child.type == kind:
            yield child
        yield from _below(child, kind)


def _text(node: Node | None) -> bytes:
    return (node.text or b"") if node is not None else b""


def _calls(node: Node, name: bytes) -> list[Node]:
    return [call for call in _below(node, "call_expression") if _text(call.child_by_field_name("function")) == name]


def _slot_loops(subject: Subject) -> Iterator[tuple[TreePath, Node, bytes]]:
    """The innermost loops that copy one recurrent state per rollback slot, each with its body and variable."""
    rule = subject.rules.get("snapshot-writes")
    for path, unit in _units_with(rule, subject) if rule is not None else ():
        for loop in _below(unit.node, "for_statement") if unit.node is not None else ():
            body = loop.child_by_field_name("body")
            variable = _loop_variable(loop)
            inner = body is not None and any(_calls(each, b"ggml_cpy") for each in _below(body, "for_statement"))
            if body is None or inner or not variable or body.type != "compound_statement":
                continue
            if any(variable in _words(call) for call in _calls(body, b"ggml_cpy")):
                yield path, body, variable


def _units_with(rule: Rule, subject: Subject) -> Iterator[tuple[TreePath, Unit]]:
    for match in statement_matches(rule, subject.tree, subject.arch):
        for unit in subject.tree.parse(match.path).units:
            if unit.symbol == match.piece.symbol and unit.start <= match.piece.start < unit.end:
                yield match.path, unit


def _loop_variable(loop: Node) -> bytes:
    made = loop.child_by_field_name("initializer")
    declared = made.child_by_field_name("declarator") if made is not None else None
    name = declared.child_by_field_name("declarator") if declared is not None else None
    return _text(name)


def _words(node: Node) -> set[bytes]:
    return {_text(name) for name in _below(node, "identifier")}


# -- the edits -------------------------------------------------------------------------------------------


def _without_statement(rule_id: str) -> Callable[[Subject], tuple[Edit, ...]]:
    """Every statement of the arch that satisfies a rule becomes an empty one."""

    def find(subject: Subject) -> tuple[Edit, ...]:
        rule = subject.rules.get(rule_id)
        found = statement_matches(rule, subject.tree, subject.arch) if rule is not None else ()
        return tuple(Edit(one.path, one.piece.start, one.piece.end, b";") for one in found)

    return find


def _without_entry(rule_id: str) -> Callable[[Subject], tuple[Edit, ...]]:
    """A registry forgets the arch, and those that share its graph keep theirs."""

    def find(subject: Subject) -> tuple[Edit, ...]:
        rule = subject.rules.get(rule_id)
        found = matches(rule, subject.tree, subject.arch) if rule is not None else ()
        return tuple(_forget(one.path, one.piece, subject.tree.files[one.path]) for one in found)

    return find


def _forget(path: TreePath, piece: Piece, source: bytes) -> Edit:
    if piece.kind is PieceKind.COMPARISON:
        return Edit(path, piece.start, piece.end, b"false")
    end = piece.end
    if piece.kind is PieceKind.ENTRY and source[end:].lstrip().startswith(b","):
        end = source.index(b",", end) + 1
    return Edit(path, piece.start, end, b"")


def _one_state(subject: Subject) -> tuple[Edit, ...]:
    """The loop over slots ends after the first: the registry promises states that nobody wrote."""
    return tuple(
        Edit(path, body.end_byte - 1, body.end_byte - 1, b"break; ") for path, body, _ in _slot_loops(subject)
    )


def _one_slot_less(subject: Subject) -> tuple[Edit, ...]:
    """The state of one token back is not written, those before and after it are."""
    return tuple(
        Edit(path, body.start_byte + 1, body.start_byte + 1, b" if (%s == 1) { continue; }" % variable)
        for path, body, variable in _slot_loops(subject)
    )


def _one_slot_off(subject: Subject) -> tuple[Edit, ...]:
    """A rollback takes the state of one token too late."""
    found = []
    for path, _, body in functions(subject.tree, "seq_rm"):
        for call in _calls(body, b"set_rs_idx"):
            words = call.child_by_field_name("arguments")
            last = words.named_children[-1] if words is not None and words.named_child_count > 1 else None
            if last is not None and last.type != "number_literal":
                found.append(Edit(path, last.start_byte, last.end_byte, b"(%s) - 1" % _text(last)))
    return tuple(found)


def _verification(answer: bytes) -> Callable[[Subject], tuple[Edit, ...]]:
    """Whether a drafted token counts as rejected is `answer`, whatever the target says."""

    def find(subject: Subject) -> tuple[Edit, ...]:
        return tuple(
            Edit(path, condition.start_byte, condition.end_byte, b"(%s)" % answer)
            for path, _, body in functions(subject.tree, "common_sampler_sample_and_accept_n")
            for branch in _below(body, "if_statement")
            if (condition := branch.child_by_field_name("condition")) is not None
            and b"!=" in _text(condition)
            and b"draft" in _words(condition)
            and any(_below(branch, "break_statement"))
        )

    return find


def _at_head(name: str, text: bytes) -> Callable[[Subject], tuple[Edit, ...]]:
    """A statement at the head of every function of a name."""

    def find(subject: Subject) -> tuple[Edit, ...]:
        places = ((path, body.start_byte + 1) for path, _, body in functions(subject.tree, name))
        return tuple(Edit(path, at, at, b" " + text) for path, at in places)

    return find


def _decodes(subject: Subject) -> tuple[Edit, ...]:
    # The pointer itself is volatile: a compiler that knew its value would put a trap in place of the access.
    text = (
        b"{ static int forkguard_calls = 0; if (++forkguard_calls > %d) "
        b"{ volatile int * volatile nowhere = nullptr; *nowhere = 1; } }" % ENOUGH_DECODES
    )
    edits = _at_head("decode", text)(subject)
    return tuple(edit for edit in edits if edit.path.startswith("src/"))


_SECOND_HANGS = (
    b"{ static int forkguard_requests = 0; volatile bool forkguard_waits = ++forkguard_requests > 1; "
    b"while (forkguard_waits) {} }"
)


# -- the list --------------------------------------------------------------------------------------------


def _crash(*kinds: str) -> Expected:
    return Expected(CheckName.CRASH, frozenset(kinds))


_CORRUPTION = Expected(CheckName.DETERMINISM, frozenset({"corruption"}))
_NOT_PASSED = frozenset({Verdict.FAIL, Verdict.INCONCLUSIVE})
_CHECKPOINTS = frozenset({"checkpoints", "rollback-clamped", "rollback-disabled"})

MUTATIONS = (
    Mutation(
        "layer-input-deleted", "the layer loop publishes its input no longer", "the layer-input line of the arch",
        _crash("abort", "signal"), _without_statement("layer-input"),
    ),
    Mutation(
        "single-state-write", "registered for rollback, and one state is written instead of one per slot",
        "the loop that writes one state per rollback slot", _CORRUPTION, _one_state,
    ),
    Mutation(
        "slot-not-written", "the state of one token back is not written",
        "the loop that writes one state per rollback slot", _CORRUPTION, _one_slot_less,
    ),
    Mutation(
        "rollback-off-by-one", "a rollback takes the state of one token too late",
        "the call of set_rs_idx() in seq_rm()", _CORRUPTION, _one_slot_off,
    ),
    Mutation(
        "draft-unchecked", "every drafted token counts as accepted",
        "the comparison in common_sampler_sample_and_accept_n()", _CORRUPTION, _verification(b"false"),
    ),
    Mutation(
        "draft-never-accepted", "no drafted token counts as accepted",
        "the comparison in common_sampler_sample_and_accept_n()",
        Expected(CheckName.LIVENESS, frozenset({"none-accepted"}), _NOT_PASSED), _verification(b"true"),
    ),
    Mutation(
        "null-pointer", "a null pointer is used some decodes after loading", "the function decode() in src/",
        _crash("signal"), _decodes,
    ),
    Mutation(
        "second-request-hangs", "the second request is never answered", "the function launch_slot_with_task()",
        _crash("hang"), _at_head("launch_slot_with_task", _SECOND_HANGS), timeout=20.0,
    ),
    Mutation(
        "logits-deleted", "the graph publishes no logits", "the logits line of the arch",
        _crash("abort", "signal", "bad-answer", "exited", "load-error"), _without_statement("logits-output"),
    ),
    Mutation(
        "name-unregistered", "the table of names lacks the arch", "the entry of the arch in LLM_ARCH_NAMES",
        _crash("load-error"), _without_entry("arch-name"),
    ),
    Mutation(
        "hybrid-unregistered", "the arch is not registered as recurrent or hybrid",
        "the entry of the arch in llm_arch_is_hybrid() or llm_arch_is_recurrent()",
        _crash("abort", "signal", "exited", "load-error"), _without_entry("hybrid-registry"),
    ),
    Mutation(
        "rollback-unregistered", "the arch is not registered for rollback, and fallbacks are asked to fail",
        "the entry of the arch in llm_arch_supports_rs_rollback()",
        Expected(CheckName.FALLBACK, _CHECKPOINTS), _without_entry("rollback-registry"), fallback_fails=True,
    ),
    Mutation(
        "node-budget-dropped", "the arch lacks the larger node budget; a deep probe at draft width 15",
        "the entry of the arch in graph_max_nodes()", _crash("abort"), _without_entry("node-budget-registry"),
        probe="deep", widths=(15,),
    ),
)  # fmt: skip
"""Every mutation, in the order in which a self-test runs them."""
