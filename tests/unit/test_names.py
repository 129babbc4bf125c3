"""Refs as people write them: what git could read as something else is refused."""

import pytest

from forkguard.core.names import check_ref
from forkguard.errors import UsageProblem


@pytest.mark.parametrize("ref", ["master", "upstream/master~2", "v1^", "a^~3", "b10549", "a.b/c-d", "x;y", "lock"])
def test_refs(ref: str) -> None:
    assert check_ref(ref) == ref


@pytest.mark.parametrize(
    "ref",
    ["", "-x", "--upload-pack=x", "a..b", "a.lock", "a.lock~1", "a/", "a.", "a b", "a\nb", "a\0b", "a\x7fb", "a:b",
     "a?b", "a*b", "a[b", "a\\b", "@{-1}", "a//b", "~1", "a~b"],
)  # fmt: skip
def test_what_is_none(ref: str) -> None:
    with pytest.raises(UsageProblem, match="is not a ref name"):
        check_ref(ref)
