"""`python -m tools.mutate [--minutes N] [--seed N] [--each N] [MODULE...]`: do tests notice faults in `core/`?

Small faults are put into a copy of the sources, one at a time, chosen by the seed: a comparison turned, `and` for
`or`, a `not` taken away, a number one too large, a text changed, the branches of a condition exchanged. For each, the
module's doctests, the unit tests that import it and the short tests of `WIDER` run until one fails: the fault was
noticed. It is a sample.
"""

import argparse
import ast
import contextlib
import copy
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TREE = Path("build/mutants")
CORE = "forkguard/core"
PATIENCE = 240.0
"""Seconds that the tests of one module may take without a fault; with one, three times what they took and 20 more."""
MEMORY = 4 << 30
"""Bytes that the tests may take: a loop that a fault leaves without end must not take the machine's memory."""

WIDER = {
    "integration/test_drift.py": (
        "arch_reports archs baseline basematch compare differences drift findings fixes follow_ups graph_differences"
        " history ledger map_lines pieces registry_differences rulebook rules siblings sweeps"
    ),
    "integration/test_fitting.py": "fitting hunks patch_mail",
    "integration/test_history.py": "history_rows history_update",
    "integration/test_measure.py": "measured measurements performance performance_checks quality statistics",
    "integration/test_receipt_chain.py": "receipts server_flags",
    "integration/test_workbench.py": "commit_objects merges trees",
    "scenarios/test_nightly.py": "night_packets night_verdict nightly",
    "scenarios/test_port_closure.py": "additive closure own_names",
    "scenarios/test_stack_replay.py": "fitting replay",
    "scenarios/test_verify.py": "receipts verify",
}
"""Tests that reach most lines of these modules from outside, and take half a minute at most; they run last."""

_TURNED: dict[type[ast.AST], Any] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One change: the `number`-th node of a module, as it was and as it is."""

    module: str
    number: int
    line: int
    old: str
    new: str


def main() -> int:
    """Try faults until time is up."""
    options = _options()
    modules = options.modules or sorted(path.stem for path in Path(CORE).glob("*.py") if path.stem != "__init__")
    _copy_sources()
    dice = random.Random(options.seed)  # noqa: S311  (no secret)
    tests = {module: _tests_of(module) for module in modules}
    untested = [module for module in modules if not tests[module]]
    faults = [fault for module in modules if tests[module] for fault in _faults(module)]
    dice.shuffle(faults)
    _warm_up()
    if options.each:
        faults = _at_most(options.each, faults)
    noticed, missed = _try_all(faults, tests, until=time.monotonic() + options.minutes * 60)
    _tell(noticed, missed, untested=untested, all_=len(faults))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=27383)
    parser.add_argument("--each", type=int, help="try this many faults of a module at most")
    return parser.parse_args()


def _copy_sources() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in listed.decode().split("\0")[:-1]:
        if Path(name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, TREE / name)
    version = Path("forkguard/_version.py")
    if version.exists():
        shutil.copy(version, TREE / version)


def _tests_of(module: str) -> list[str]:
    """The module itself where it has doctests, the unit tests that import it or one that imports it, and `WIDER`."""
    users = [path.stem for path in (TREE / CORE).glob("*.py") if _imports(path, [module])]
    tests = sorted((TREE / "tests" / "unit").glob("test_*.py"), key=lambda path: (module not in path.stem, path))
    near = [path for path in tests if _imports(path, [module])]
    far = [path for path in tests if path not in near and _imports(path, users)]
    source = TREE / CORE / f"{module}.py"
    own = [source] if ">>>" in source.read_text() else []
    wider = [TREE / "tests" / name for name, modules in WIDER.items() if module in modules.split()]
    return [path.relative_to(TREE).as_posix() for path in (*own, *near, *far, *wider)]


def _imports(path: Path, modules: list[str]) -> bool:
    text = path.read_text()
    pattern = r"from forkguard\.core(?:\.(\w+))? import ([\w, ]*)"
    found = {name for one, rest in re.findall(pattern, text) for name in (one, *(() if one else rest.split(", ")))}
    return not found.isdisjoint(modules)


# -- faults ----------------------------------------------------------------------------------------------


def _faults(module: str) -> list[Fault]:
    tree = ast.parse((TREE / CORE / f"{module}.py").read_text())
    found = []
    for number, node in enumerate(_places(tree)):
        changed = _changed(node)
        if changed is not None:
            found.append(Fault(module, number, node.lineno, ast.unparse(node), ast.unparse(changed)))
    return found


def _at_most(count: int, faults: list[Fault]) -> list[Fault]:
    """The first so many faults of each module, in their order."""
    seen: Counter[str] = Counter()
    kept = []
    for fault in faults:
        seen[fault.module] += 1
        if seen[fault.module] <= count:
            kept.append(fault)
    return kept


def _places(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions inside of functions, but for annotations, messages of errors and what documents."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for statement in node.body:
                yield from _places(statement) if isinstance(node, ast.ClassDef) else _inside(statement)
        elif isinstance(node, (ast.stmt, ast.excepthandler)):
            yield from _places(node)


def _inside(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Raise, ast.JoinedStr)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        return
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _inside(child)


def _changed(node: ast.expr) -> ast.expr | None:
    """The node with a fault; None where this sort of node gets none."""
    made = copy.deepcopy(node)
    if isinstance(made, ast.Compare) and type(made.ops[0]) in _TURNED:
        made.ops[:1] = [_TURNED[type(made.ops[0])]()]
    elif isinstance(made, ast.BoolOp) or (isinstance(made, ast.BinOp) and type(made.op) in _TURNED):
        made.op = _TURNED[type(made.op)]()
    elif isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Not):
        return made.operand
    elif isinstance(made, ast.IfExp):
        made.body, made.orelse = made.orelse, made.body
    elif isinstance(made, ast.Constant) and isinstance(made.value, bool):
        made.value = not made.value
    elif isinstance(made, ast.Constant) and isinstance(made.value, int):
        made.value += 1
    elif isinstance(made, ast.Constant) and isinstance(made.value, str):
        made.value = "XX" + made.value
    else:
        return None
    return made


class _Put(ast.NodeTransformer):
    def __init__(self, target: ast.expr, made: ast.expr) -> None:
        self._target, self._made = target, made

    def visit(self, node: ast.AST) -> ast.AST:
        """Exchange the one node."""
        return ast.copy_location(self._made, node) if node is self._target else super().generic_visit(node)


def _source_with(fault: Fault) -> str:
    tree = ast.parse((TREE / CORE / f"{fault.module}.py").read_text())
    node = next(node for number, node in enumerate(_places(tree)) if number == fault.number)
    made = _changed(node)
    assert made is not None  # noqa: S101  (it was, when the fault was listed)
    return ast.unparse(ast.fix_missing_locations(_Put(node, made).visit(tree)))


# -- tests -----------------------------------------------------------------------------------------------


def _warm_up() -> None:
    """Import what all tests need, so that the children need not."""
    import hypothesis  # noqa: PLC0415

    hypothesis.settings.register_profile("few", max_examples=25, deadline=None)
    hypothesis.settings.load_profile("few")
    import pydantic  # noqa: F401, PLC0415
    import pytest  # noqa: F401, PLC0415
    import tree_sitter  # noqa: F401, PLC0415


def _try_all(faults: list[Fault], tests: dict[str, list[str]], *, until: float) -> tuple[Counter[str], list[Fault]]:
    noticed: Counter[str] = Counter()
    missed: list[Fault] = []
    patience: dict[str, float] = {}
    for fault in faults:
        if time.monotonic() > until:
            break
        target = TREE / CORE / f"{fault.module}.py"
        if fault.module not in patience:
            patience[fault.module] = _patience(tests[fault.module])
        if not patience[fault.module]:
            continue
        before = target.read_text()
        try:
            target.write_text(_source_with(fault))
            if _passes(tests[fault.module], within=patience[fault.module]):
                missed.append(fault)
                print(f"missed: {fault.module}:{fault.line}: {fault.old}  ->  {fault.new}", flush=True)
            else:
                noticed[fault.module] += 1
        finally:
            target.write_text(before)
    for module in (module for module, seconds in patience.items() if not seconds):
        print(f"not tried: the tests of {module} fail without a fault")
    return noticed, missed


def _patience(tests: list[str]) -> float:
    """How long to wait for these tests when there is a fault; 0 where they fail without one."""
    start = time.monotonic()
    passes = _passes(tests, within=PATIENCE)
    return 3 * (time.monotonic() - start) + 20 if passes else 0.0


def _passes(tests: list[str], *, within: float) -> bool:
    """Whether the tests pass, in a child of this process; tests that hang longer do not."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(_run(tests))
    end = time.monotonic() + within
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(tests: list[str]) -> int:
    import pytest  # noqa: PLC0415

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(TREE)
    sys.path.insert(0, str(Path.cwd()))
    sys.dont_write_bytecode = True
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    early = "ignore::pytest.PytestAssertRewriteWarning"  # for what `_warm_up` imported
    return int(pytest.main(["-x", "-q", "-W", early, "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))


def _tell(noticed: Counter[str], missed: list[Fault], *, untested: list[str], all_: int) -> None:
    lost = Counter(fault.module for fault in missed)
    for module in sorted({*noticed, *lost}):
        print(f"{module:<26} noticed {noticed[module]:>4}   missed {lost[module]:>4}")
    total = noticed.total() + lost.total()
    share = f"{100 * noticed.total() / total:.0f} %" if total else "none"
    print(f"{total} of {all_} faults tried, {share} noticed")
    if untested:
        print(f"no unit test imports: {', '.join(untested)}")


if __name__ == "__main__":
    sys.exit(main())
