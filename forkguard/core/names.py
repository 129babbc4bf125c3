"""Names that must not be interchanged: a commit, a blob, a ref, a path in a tree, a pull request."""

import re
from typing import NewType

from forkguard.errors import UsageProblem

CommitHash = NewType("CommitHash", str)
"""A full hexadecimal commit id that some repository is known to have."""

BlobHash = NewType("BlobHash", str)
TreeHash = NewType("TreeHash", str)
RefName = NewType("RefName", str)
"""A revision as a person wrote it, checked by `check_ref`: it can never be read as an option."""

TreePath = NewType("TreePath", str)
"""A path inside a tree, with `/` and without a leading one."""

PullNumber = NewType("PullNumber", int)

_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_REVISION_SUFFIX = re.compile(r"([~^]\d*)*$")


def check_ref(text: str) -> RefName:
    """Return `text` as a ref, or raise `UsageProblem` where git could read it as something else.

    Ancestry suffixes (`~2`, `^`) are allowed behind a name.

    >>> check_ref("upstream/master~2")
    'upstream/master~2'
    >>> check_ref("--upload-pack=x")
    Traceback (most recent call last):
    forkguard.errors.UsageProblem: '--upload-pack=x' is not a ref name
    """
    name = _REVISION_SUFFIX.sub("", text)
    if not name or name.startswith("-") or name.endswith((".lock", "/", ".")) or _FORBIDDEN_IN_REF.search(name):
        raise UsageProblem(
            f"{text!r} is not a ref name", hint="give a branch, a tag or a commit, as `git rev-parse` takes it"
        )
    return RefName(text)
