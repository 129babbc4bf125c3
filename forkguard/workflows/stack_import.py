"""`forkguard stack import`: a branch, a quilt series or a folder of mails becomes the end of the stack.

Numbers and authors are kept. The stack's series is written last, so that it never names what is not there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from forkguard.core.commit_objects import PATCHSET_TRAILER
from forkguard.core.names import CommitHash
from forkguard.core.patch_mail import NotAPatch, PatchMail, parse_mail
from forkguard.core.patchset import (
    MANIFEST,
    SERIES,
    SeriesEntry,
    dep3_fields,
    format_series,
    series_with,
)
from forkguard.core.replay import PatchStatus, StackPatch
from forkguard.core.stack_edit import imported_manifest, name_from, number_of
from forkguard.errors import UsageProblem
from forkguard.ports import PatchsetStore, Repository
from forkguard.workflows.replay_stack import ReplayTools, Stack

KEPT_FIELDS = ("Origin", "Forwarded", "Applied-Upstream", "Bug", "Reviewed-by", "Last-Update")
"""DEP-3 fields that an imported patch keeps."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One patch to be imported: how it was called, its bytes, and how many folders its paths have in front.

    `commit` is set where it is a commit of this repository already; `patchset` where it says to which it belongs.
    """

    name: str
    content: bytes
    strip: int = 1
    commit: CommitHash | None = None
    patchset: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What was imported: patchsets in order with their patch files; and those patches that were kept as they came."""

    patchsets: tuple[tuple[str, tuple[str, ...]], ...]
    as_they_came: tuple[tuple[str, str], ...]
    base: CommitHash


@dataclass(frozen=True, slots=True)
class _Ready:
    incoming: Incoming
    number: int
    mail: PatchMail
    commit: CommitHash | None
    trouble: str


def import_stack(
    incoming: Sequence[Incoming],
    *,
    base: CommitHash,
    into: str | None,
    patchsets: PatchsetStore,
    tools: ReplayTools,
    keep: Callable[[CommitHash], None] | None = None,
    dry_run: bool = False,
) -> Imported:
    """Carry patches as patchsets: one each, or all in the patchset `into`.

    `keep` is told the last commit that a patch was exported from, before anything is written: git must not drop it.

    A patch that does not apply is kept as it came, and said. Raises `UsageProblem` where a patchset of a name is
    there already and holds something else, or a file is no patch.
    """
    if not incoming:
        raise UsageProblem("there is nothing to import", hint="forkguard stack import --help")
    ready = _made(incoming, base, tools)
    files, names, kept = _files(ready, base, into, tools)
    _check_free(files, patchsets)
    series = (patchsets.content(SERIES) or b"").decode("utf-8", "surrogateescape")
    for name in names:
        series = series_with(series, name, name=str(patchsets.root / SERIES))
    if not dry_run:
        made = [each.commit for each in ready if each.commit is not None]
        if keep is not None and made:
            keep(made[-1])
        for path, content in files.items():
            patchsets.put(path, content)
        patchsets.put(SERIES, series.encode("utf-8", "surrogateescape"))
    return Imported(tuple((name, tuple(patches)) for name, patches in names.items()), tuple(kept), base)


def _made(incoming: Sequence[Incoming], base: CommitHash, tools: ReplayTools) -> list[_Ready]:
    """The patches as commits on top of the base, as far as they apply one after the other."""
    mails = [_parsed(each) for each in incoming]
    numbers = _numbers([each.name for each in incoming])
    if all(each.commit for each in incoming):
        rows = zip(incoming, numbers, mails, strict=True)
        return [_Ready(each, number, mail, each.commit, "") for each, number, mail in rows]
    stack = Stack(
        [StackPatch("import", each.name, mail) for each, mail in zip(incoming, mails, strict=True)],
        tools, base=base, onto=base,
    )  # fmt: skip
    state = stack.state()
    steps, troubles = [], dict[int, str]()
    for index, mail in enumerate(mails):
        tools.talk.progress(index, len(mails), "patches applied to the base")
        tried = stack.attempt(index, state)
        if tried.status not in (PatchStatus.APPLIES, PatchStatus.ADDITIVE):
            place = f", {tried.troubles[0].path}: {tried.troubles[0].reason}" if tried.troubles else ""
            troubles[index] = f"{tried.status.value}{place}"
            continue
        state.written |= tried.files
        steps.append((mail.author, mail.message, tried.files))
    commits = iter(tools.store.commit_series(base, steps))
    return [
        _Ready(each, number, mail, None if index in troubles else next(commits), troubles.get(index, ""))
        for index, (each, number, mail) in enumerate(zip(incoming, numbers, mails, strict=True))
    ]


def _parsed(incoming: Incoming) -> PatchMail:
    try:
        mail = parse_mail(incoming.content, strip=incoming.strip)
    except NotAPatch as problem:
        raise UsageProblem(problem.what, where=incoming.name, hint=problem.hint) from problem
    if mail.headers.get("Subject"):
        return mail
    described = mail.headers.get("Description", "")
    subject = described or name_from(incoming.name.rpartition("/")[2])
    rest = mail.message.partition(b"\n")[2]
    return replace(mail, message=subject.encode() + b"\n" + rest)


def _numbers(names: Sequence[str]) -> list[int]:
    """The numbers that the names begin with; the places from 1, where a name has none or two have the same."""
    own = [number_of(name.rpartition("/")[2]) for name in names]
    known = [number for number in own if number is not None]
    if len(known) == len(own) == len(set(known)) and known == sorted(known):
        return known
    return list(range(1, len(names) + 1))


def _files(
    ready: Sequence[_Ready], base: CommitHash, into: str | None, tools: ReplayTools
) -> tuple[dict[str, bytes], dict[str, list[str]], list[tuple[str, str]]]:
    """The files to write, in order of writing; the patchsets with their patches; what was kept as it came."""
    files: dict[str, bytes] = {}
    names: dict[str, list[str]] = {}
    kept: list[tuple[str, str]] = []
    firsts: dict[str, _Ready] = {}
    for done, each in enumerate(ready):
        tools.talk.progress(done, len(ready), "patches written")
        stem = each.incoming.name.rpartition("/")[2]
        name = into or each.incoming.patchset or _named(stem, each.number)
        if each.commit is not None:
            headers = _headers(each.mail)
            file, content = tools.bench.patch(each.commit, number=each.number, base=base, headers=headers)
        else:
            file, content = f"{_named(stem, each.number)}.patch", each.incoming.content
            kept.append((f"{name}/{file}", each.trouble))
        files[f"{name}/{file}"] = content
        names.setdefault(name, []).append(file)
        firsts.setdefault(name, each)
    for name, patches in names.items():
        mail = firsts[name].mail
        files[f"{name}/{SERIES}"] = format_series([SeriesEntry(patch) for patch in patches]).encode()
        title = mail.subject if len(patches) == 1 else name
        upstream = _upstream_of(mail)
        files[f"{name}/{MANIFEST}"] = imported_manifest(name, title=title, base=base, upstream=upstream).encode()
    return files, names, kept


def _named(stem: str, number: int) -> str:
    name = name_from(stem)
    return name if number_of(name) == number else f"{number:04d}-{name}"[:64].rstrip("-._")


def _headers(mail: PatchMail) -> list[str]:
    """The DEP-3 fields of an imported patch: its own, else those of a change of upstream's or of the fork's."""
    own = [f"{name}: {mail.headers[name]}" for name in KEPT_FIELDS if mail.headers.get(name)]
    upstream = _upstream_of(mail)
    defaults = dep3_fields(origin=upstream[-1], merged=True) if upstream else ("Origin: vendor", "Forwarded: no")
    there = {line.partition(":")[0] for line in own}
    return [*own, *(line for line in defaults if line.partition(":")[0] not in there)]


def _upstream_of(mail: PatchMail) -> list[CommitHash]:
    """The commits that the message says the patch was picked from."""
    mark = "(cherry picked from commit "
    lines = mail.message.decode("utf-8", "replace").split("\n")
    found = [line.removeprefix(mark).removesuffix(")") for line in lines if line.startswith(mark)]
    return [CommitHash(commit) for commit in found if len(commit) in (40, 64)]


def _check_free(files: Mapping[str, bytes], patchsets: PatchsetStore) -> None:
    for name in dict.fromkeys(path.partition("/")[0] for path in files):
        there = set(patchsets.files(name))
        if patchsets.content(f"{name}/{MANIFEST}") is not None:
            there.add(f"{name}/{MANIFEST}")
        for path in there:
            if patchsets.content(path) != files.get(path):
                raise UsageProblem(
                    f"the patchset {name} is there already and holds something else",
                    where=str(patchsets.root / path),
                    hint=f"forkguard stack drop {name}  first, or give another name with --name",
                )


def branch_patches(
    tip: CommitHash, *, base: CommitHash, repo: Repository, tools: ReplayTools
) -> tuple[Incoming, ...]:
    """The commits from the base to the tip as patches, each with the patchset that its trailer names, if any.

    Where merges are among them, they stand on several commits of upstream: only what each changes is taken.
    """
    own = repo.own_commits(base, tip, trailer=PATCHSET_TRAILER)[::-1]
    merges = len(repo.history(["--merges", f"{base}..{tip}"]))
    if merges:
        tools.talk.note(
            f"{merges} merge{'s' if merges > 1 else ''} among {len(own) + merges} commits: each patch is applied "
            "to the base anew, and what was changed in a merge itself is in none"
        )
    found = []
    for number, (commit, patchset) in enumerate(own, 1):
        tools.talk.progress(number, len(own), "commits read")
        file, content = tools.bench.patch(commit.id, number=number, base=None, headers=())
        found.append(Incoming(file, content, commit=None if merges else commit.id, patchset=patchset))
    return tuple(found)
