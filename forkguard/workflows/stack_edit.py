"""Edits of the patch stack: reorder, drop, disable, enable, retire.

Each write is whole. What adds to the stack is written before the series names it; what is taken out leaves the series
first, so that a kill never leaves a series that names what is not there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.patchset import MANIFEST, SERIES, State, check_name
from forkguard.core.replay import PatchResult, PatchStatus
from forkguard.core.stack_edit import Place, moved, names_of, with_state, without
from forkguard.errors import UsageProblem
from forkguard.ports import PatchsetStore


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit did: the patchset, what happened to it, and the order of the stack now."""

    name: str
    done: str
    order: tuple[str, ...]
    notes: tuple[str, ...] = ()


OrderCheck = Callable[[Sequence[str]], Sequence[str]]
"""Tells which patches do not apply when the patchsets stand in this order, each with the reason."""


def reorder(name: str, place: Place, *, patchsets: PatchsetStore, check: OrderCheck, force: bool = False) -> Edited:
    """Put a patchset at another place of the stack.

    Raises `UsageProblem` where a patch does not apply in that order that applies in the present one, unless `force`:
    then it is a note.
    """
    patchsets.manifest(name)
    text = _series(patchsets)
    new = moved(text, name, place, file=_file(patchsets))
    broken: list[str] = []
    if new != text:
        names = [names_of(each, file=_file(patchsets)) for each in (text, new)]
        known = set(check(names[0]))
        broken = [said for said in check(names[1]) if said not in known]
        if broken and not force:
            raise UsageProblem(
                f"in that order a patch does not apply: {broken[0]}",
                where=_file(patchsets),
                hint=f"forkguard stack reorder {name} … --force  moves it all the same",
            )
        patchsets.put(SERIES, new.encode("utf-8", "surrogateescape"))
    notes = tuple(f"does not apply any more: {said}" for said in broken)
    return _edited(name, "moved" if new != text else "was there already", patchsets, notes)


def disable(name: str, *, reason: str, patchsets: PatchsetStore) -> Edited:
    """Leave a patchset out of the stack for now; its place in the order stays."""
    _set_state(name, State.DISABLED, reason=reason, patchsets=patchsets)
    return _edited(name, "disabled", patchsets)


def enable(name: str, *, patchsets: PatchsetStore) -> Edited:
    """Take a disabled or retired patchset in again. Raises `UsageProblem` where it has no patches."""
    manifest = patchsets.manifest(name)
    if not patchsets.patches(name):
        hint = f"forkguard port {manifest.pull}" if manifest.pull else f"forkguard stack show {name}"
        raise UsageProblem(f"{name} has no patches", where=_file(patchsets), hint=hint)
    _set_state(name, State.CARRIED, reason=None, patchsets=patchsets)
    text = _series(patchsets)
    if name in names_of(text, file=_file(patchsets)):
        return _edited(name, "carried", patchsets)
    patchsets.put(SERIES, f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{name}\n".encode())
    return _edited(name, "carried, at the end of the stack", patchsets)


def retire(
    name: str, *, results: Sequence[PatchResult], onto: str, reason: str | None, force: bool, patchsets: PatchsetStore
) -> Edited:
    """Take a patchset out of the stack for good: upstream has it. Its files stay.

    `results` are its patches' classes on `onto`. Raises `UsageProblem` where one has not landed, unless `force`.
    """
    open_ones = [result for result in results if result.status is not PatchStatus.LANDED]
    if not force and (open_ones or not results):
        said = (
            f"{open_ones[0].patch.label} is {open_ones[0].status.value}" if open_ones else "it has no patches there"
        )
        raise UsageProblem(
            f"{name} has not landed in {onto}: {said}",
            where=_file(patchsets),
            hint=f"forkguard stack retire {name} --force --reason WHY  retires it all the same",
        )
    landed = sorted({result.landed_in[:10] for result in results if result.landed_in})
    why = reason or f"landed in {onto}" + (f" with {', '.join(landed)}" if landed else "")
    _set_state(name, State.RETIRED, reason=why, patchsets=patchsets)
    _take_out(name, patchsets)
    return _edited(name, f"retired: {why}", patchsets)


def drop(name: str, *, patchsets: PatchsetStore, kept: PatchsetStore) -> Edited:
    """Remove a patchset. Its files are copied to `kept` first; the stack's series lets it go before they do."""
    check_name(name)
    patchsets.manifest(name)
    patches = [f"{name}/{patch}" for patch, _ in patchsets.patches(name)]
    files = list(dict.fromkeys((*patchsets.files(name), *patches, f"{name}/{SERIES}", f"{name}/{MANIFEST}")))
    contents = {file: content for file in files if (content := patchsets.content(file)) is not None}
    place = _free_name(name, contents, kept)
    for file, content in contents.items():
        kept.put(f"{place}/{file.partition('/')[2]}", content)
    _take_out(name, patchsets)
    for file in contents:
        patchsets.put(file, None)
    return _edited(name, "dropped", patchsets, (f"its files are kept in {kept.root / place}",))


def _free_name(name: str, contents: Mapping[str, bytes], kept: PatchsetStore) -> str:
    """The first name under which `kept` holds nothing else: a drop that was cut short goes on where it was."""
    for number in range(1, 1000):
        place = name if number == 1 else f"{name}.{number}"
        there = {file: kept.content(f"{place}/{file.partition('/')[2]}") for file in contents}
        if all(found is None or found == contents[file] for file, found in there.items()):
            return place
    raise UsageProblem(f"{name} was dropped a thousand times", where=str(kept.root), hint=f"clear {kept.root}")


def _take_out(name: str, patchsets: PatchsetStore) -> None:
    text = _series(patchsets)
    new = without(text, name, file=_file(patchsets))
    if new != text:
        patchsets.put(SERIES, new.encode("utf-8", "surrogateescape"))


def _set_state(name: str, state: State, *, reason: str | None, patchsets: PatchsetStore) -> None:
    patchsets.manifest(name)
    where = f"{name}/{MANIFEST}"
    old = (patchsets.content(where) or b"").decode()
    new = with_state(old, state, reason=reason)
    if new != old:
        patchsets.put(where, new.encode())


def _series(patchsets: PatchsetStore) -> str:
    return (patchsets.content(SERIES) or b"").decode("utf-8", "surrogateescape")


def _file(patchsets: PatchsetStore) -> str:
    return str(patchsets.root / SERIES)


def _edited(name: str, done: str, patchsets: PatchsetStore, notes: tuple[str, ...] = ()) -> Edited:
    order = tuple(entry.name for entry in patchsets.order())
    return Edited(name, done, order, notes)
