"""What a night fetches from upstream, what came, and which commit of it is looked at. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forkguard.core.names import CommitHash, check_ref
from forkguard.errors import UsageProblem

PLACE = "refs/forkguard/upstream/"
"""Below it lies what was fetched: `heads/<branch>` and `tags/<tag>`."""

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch left: the branch's tip now and before (None: the first time).

    `lost` counts the commits of `before` that the branch no longer has (it was force-pushed), `moved` are tags that
    point elsewhere than before, `new_tags` counts the others that came. `completed` counts objects that a partial
    clone lacked and that were fetched too. `notes` are sentences for the record.
    """

    tip: CommitHash
    before: CommitHash | None
    lost: int = 0
    new_tags: int = 0
    moved: tuple[str, ...] = ()
    completed: int = 0
    notes: tuple[str, ...] = ()


def branch_of(ref: str, *, remote: str | None) -> str:
    """The upstream branch that a map's `[upstream] ref` means; `remote` is None where upstream is another clone.

    >>> branch_of("upstream/master", remote="upstream"), branch_of("refs/heads/master", remote=None)
    ('master', 'master')
    >>> branch_of("b10549", remote="upstream")
    Traceback (most recent call last):
    forkguard.errors.UsageProblem: [upstream] ref = 'b10549' is no branch of the remote upstream
    """
    prefixes = ("refs/heads/",) if remote is None else (f"refs/remotes/{remote}/", f"remotes/{remote}/", f"{remote}/")
    name = next((ref.removeprefix(prefix) for prefix in prefixes if ref.startswith(prefix)), None)
    if name is None and remote is None:
        name = ref
    if not name or "~" in name or "^" in name:
        where = f"the remote {remote}" if remote is not None else "the other clone"
        raise UsageProblem(
            f"[upstream] ref = {ref!r} is no branch of {where}",
            hint=f'a night follows a branch: write ref = "{f"{remote}/" if remote else ""}master"',
        )
    return check_ref(name)


def read_listing(text: str) -> dict[str, CommitHash]:
    """`git ls-remote` as full ref names and what they point at; peeled entries (`^{}`) are left out.

    >>> read_listing("ab\\trefs/heads/master\\ncd\\trefs/tags/v1^{}\\n")
    {'refs/heads/master': 'ab'}
    """
    pairs = (line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    return {name: CommitHash(commit) for commit, name in pairs if not name.endswith("^{}")}


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts numbers in names by their value, whatever their length.

    >>> sorted(["b9", "b10", "b10-rc"], key=natural)
    ['b9', 'b10', 'b10-rc']
    """
    parts = re.findall(r"\d+|\D+", name)
    plain = (part.lstrip("0") if part.isdecimal() else part for part in parts)
    return tuple(
        (1, len(digits), digits) if part.isdecimal() else (0, 0, part)
        for part, digits in zip(parts, plain, strict=True)
    )


def newest_tag(tags: Mapping[str, CommitHash], pattern: str) -> tuple[str, CommitHash] | None:
    """The tag that matches and comes last, numbers by value; None for none.

    >>> newest_tag({"b9": CommitHash("x"), "b10": CommitHash("y"), "c11": CommitHash("z")}, "b*")
    ('b10', 'y')
    """
    found = [name for name in tags if matches(name, pattern)]
    last = max(found, key=natural, default=None)
    return None if last is None else (last, tags[last])


def matches(tag: str, pattern: str) -> bool:
    """Whether a tag is meant by a pattern, in which `*` stands for anything."""
    return fnmatchcase(tag, pattern)


def groups(tags: Sequence[str], size: int) -> list[list[str]]:
    """The tags in groups, in their natural order, so that what came before a fetch was cut off stays.

    >>> groups(["b10", "b9", "b11"], 2)
    [['b9', 'b10'], ['b11']]
    """
    ordered = sorted(tags, key=natural)
    return [ordered[at : at + size] for at in range(0, len(ordered), size)]
