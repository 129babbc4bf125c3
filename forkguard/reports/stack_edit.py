"""What edits, imports, exports and range-diffs of the stack have to say."""

import json
from collections.abc import Sequence

from forkguard.core.names import CommitHash
from forkguard.reports.plain import counted, printable

_ENDS = 6
"""Names shown of either end of a long stack."""


def edited_json(name: str, done: str, *, order: Sequence[str], notes: Sequence[str]) -> str:
    """One edit, as JSON (`forkguard/stack-edit@1`)."""
    document = {"schema": "forkguard/stack-edit@1", "patchset": name, "done": done}
    return json.dumps({**document, "order": list(order), "notes": list(notes)}, indent=2)


def edited_text(name: str, done: str, *, order: Sequence[str], notes: Sequence[str]) -> str:
    """One edit, and the order of the stack after it."""
    lines = [f"{printable(name)}: {printable(done)}", *(f"  {printable(note)}" for note in notes)]
    lines.append(f"  the stack is: {_in_short(order)}")
    return "\n".join([*lines, "", "Next", "  forkguard stack verify"])


def _in_short(order: Sequence[str]) -> str:
    """The order on one line: of a long one its ends.

    >>> _in_short([str(number) for number in range(80)])
    '0, 1, 2, 3, 4, 5, … (68 more) …, 74, 75, 76, 77, 78, 79'
    """
    names = [printable(name) for name in order]
    if len(names) > 2 * _ENDS + 1:
        names = [*names[:_ENDS], f"… ({len(names) - 2 * _ENDS} more) …", *names[-_ENDS:]]
    return ", ".join(names) or "empty"


def imported_json(
    patchsets: Sequence[tuple[str, tuple[str, ...]]], kept: Sequence[tuple[str, str]], *, base: CommitHash
) -> str:
    """An import, as JSON (`forkguard/stack-import@1`)."""
    document = {
        "schema": "forkguard/stack-import@1",
        "base": base,
        "patchsets": [{"name": name, "patches": list(patches)} for name, patches in patchsets],
        "as_they_came": [{"patch": patch, "why": why} for patch, why in kept],
    }
    return json.dumps(document, indent=2)


def imported_text(
    patchsets: Sequence[tuple[str, tuple[str, ...]]], kept: Sequence[tuple[str, str]], *, base: CommitHash
) -> str:
    """An import: the patchsets made, and the patches that do not apply to the base."""
    patches = sum(len(each) for _, each in patchsets)
    lines = [f"{counted(patches, 'patch', 'patches')} in {counted(len(patchsets), 'patchset')}, on {base[:10]}"]
    lines += [f"  {printable(name)}: {', '.join(map(printable, each))}" for name, each in patchsets]
    lines += [f"  kept as it came, it does not apply: {printable(patch)} ({printable(why)})" for patch, why in kept]
    return "\n".join([*lines, "", "Next", "  forkguard stack verify"])


def exported_json(form: str, where: str, *, tip: CommitHash, patches: int, done: str) -> str:
    """An export, as JSON (`forkguard/stack-export@1`)."""
    document = {"schema": "forkguard/stack-export@1", "as": form, "where": where, "tip": tip, "patches": patches}
    return json.dumps({**document, "done": done}, indent=2)


def exported_text(form: str, where: str, *, tip: CommitHash, patches: int, done: str) -> str:
    """An export."""
    return f"{printable(where)}: {counted(patches, 'patch', 'patches')} as {form}, {tip[:10]}, {done}"


def range_diff_json(one: CommitHash, other: CommitHash, text: str) -> str:
    """A range-diff, as JSON (`forkguard/range-diff@1`): its text, and whether the two replays say the same."""
    pairs = [line for line in text.split("\n") if line[:1].strip() or line[:4].strip().rstrip(":").isdigit()]
    same = bool(pairs) and all(" = " in pair.split(":", 2)[1] for pair in pairs)
    document = {"schema": "forkguard/range-diff@1", "one": one, "other": other, "same": same, "text": text}
    return json.dumps(document, indent=2)


def range_diff_text(text: str) -> str:
    """A range-diff as git writes it, safe for a terminal."""
    shown = "\n".join(printable(line.replace("\t", "    ")) for line in text.rstrip("\n").split("\n"))
    return shown or "both stacks are empty"
