"""A pattern that never ends costs seconds, not the gate."""

import pytest

from forkguard.adapters.bounded_regex import search
from forkguard.errors import CouldNotWork


def test_a_pattern_is_found_or_not() -> None:
    assert search(r"\bvier\b", "zwei, drei, vier\n")
    assert not search(r"\bvier\b", "vierzig \udc80 und \x00")


def test_a_pattern_that_goes_back_for_ever_is_given_up() -> None:
    with pytest.raises(CouldNotWork, match=r"was not matched within 0.5 s") as caught:
        search(r"(a+)+$", "a" * 64 + "b", timeout=0.5)
    assert "repetition" in caught.value.hint
