"""Every parser of strangers' bytes: what it is given is read, or refused in words; nothing else comes of it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS

PIECES = [
    b"", b"\0", b"\xff", b"\n", b"\r", b"null", b"-1", b"1e999", b"NaN", b"9" * 5000, b"[" * 5000, b'{"a":' * 5000,
    b'"', b"\x1b[", b"[]", b"{}", b'"\\ud800"', b"true",
]  # fmt: skip
_WORD = re.compile(rb'"[^"\n]*"|[\w.+-]+')
_MOST = 15


@pytest.mark.parametrize("name", TARGETS)
def test_each_word_of_a_seed_replaced_by_what_is_odd(name: str) -> None:
    for seed in TARGETS[name].seeds:
        words = list(_WORD.finditer(seed))
        for word in words[:: len(words) // _MOST + 1]:
            for piece in PIECES:
                TARGETS[name].check(seed[: word.start()] + piece + seed[word.end() :])


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_odd_from_front_to_end(name: str) -> None:
    for piece in PIECES:
        TARGETS[name].check(piece)


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_seeds_and_any_bytes(name: str) -> None:
    target = TARGETS[name]

    @settings(deadline=None, max_examples=60)
    @given(st.data())
    def feed(data: st.DataObject) -> None:
        content = bytearray(data.draw(st.sampled_from(target.seeds)))
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, len(content)))
            gone = data.draw(st.integers(0, 12))
            content[at : at + gone] = data.draw(st.one_of(st.binary(max_size=12), st.sampled_from(PIECES)))
        target.check(bytes(content))

    feed()
