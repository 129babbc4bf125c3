"""The head of a model file, whole and from strangers: read or refused in words, at once and in little memory."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.gguf_header import MOST_BYTES, MOST_STRINGS, ModelHeader, parse_header

SIZES = {0: (1, 4), 8: (32, 34)}
U32, STRING, ARRAY = 4, 8, 9


def text(value: str | bytes, order: str = "<") -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "Q", len(raw)) + raw


def key(name: str, kind: int, value: bytes, order: str = "<") -> bytes:
    return text(name, order) + struct.pack(order + "I", kind) + value


def u32(value: int, order: str = "<") -> bytes:
    return struct.pack(order + "I", value)


def tensor(name: str, shape: tuple[int, ...], kind: int, *, offset: int = 0, order: str = "<") -> bytes:
    dims = struct.pack(order + f"I{len(shape)}Q", len(shape), *shape)
    return text(name, order) + dims + struct.pack(order + "IQ", kind, offset)


def head(*parts: bytes, tensors: int = 0, keys: int = 0, version: int = 3, order: str = "<") -> bytes:
    return b"GGUF" + struct.pack(order + "IQQ", version, tensors, keys) + b"".join(parts)


def padded(data: bytes, to: int = 32) -> bytes:
    return data + b"\0" * (-len(data) % to)


def whole(order: str = "<") -> bytes:
    """A file with each sort of key, a tensor of floats and one in blocks."""
    parts = [
        key("general.architecture", STRING, text("lfm2", order), order),
        key("general.name", STRING, text("a model", order), order),
        key("general.alignment", U32, u32(64, order), order),
        key("a.flag", 7, b"\1", order),
        key("a.list", ARRAY, struct.pack(order + "IQ3I", U32, 3, 1, 2, 3), order),
        key("a.vocabulary", ARRAY, struct.pack(order + "IQ", STRING, 2) + text("a", order) + text("b", order), order),
        tensor("one", (4, 2), 0, order=order),
        tensor("two", (64,), 8, offset=64, order=order),
    ]
    return padded(head(*parts, tensors=2, keys=6, order=order), 64) + bytes(64 + 68)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_whole_file(order: str) -> None:
    assert parse_header(whole(order), SIZES) == ModelHeader("lfm2", "a model", ("one", "two"))


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_file_that_lacks_its_last_byte(order: str) -> None:
    with pytest.raises(ValueError, match="it ends before the data of two"):
        parse_header(whole(order)[:-1], SIZES)


def test_of_a_tensor_whose_type_is_not_known_the_place_counts() -> None:
    data = padded(head(tensor("own", (32,), 999, offset=7), tensors=1)) + bytes(7)
    assert parse_header(data, SIZES).tensors == ("own",)
    with pytest.raises(ValueError, match="before the data of own"):
        parse_header(data[:-1], SIZES)


@pytest.mark.parametrize("value", [0, 3, 48])
def test_an_alignment_that_is_none(value: int) -> None:
    with pytest.raises(ValueError, match="no power of two"):
        parse_header(head(key("general.alignment", U32, u32(value)), keys=1) + bytes(64), SIZES)


HUGE = (1 << 63) - 1
HOSTILE = {
    "nothing": (b"", "it ends too soon"),
    "another format": (b"PK\3\4" + bytes(40), "does not begin with GGUF"),
    "an old version": (head(version=1), "version 1 of the format"),
    "a version to come": (head(version=4), "version 4 of the format"),
    "keys without end": (head(keys=HUGE), "it claims 0 tensors and 9223372036854775807 keys"),
    "tensors without end": (head(tensors=HUGE), "it claims 9223372036854775807 tensors"),
    "a name of 2^63 bytes": (head(struct.pack("<Q", 1 << 63), b"a", keys=1), "it ends too soon"),
    "a text of -1 bytes": (head(key("a", STRING, b"\xff" * 8), keys=1), "it ends too soon"),
    "an array of 2^40 numbers": (head(key("a", ARRAY, struct.pack("<IQ", U32, 1 << 40)), keys=1), "it ends too soon"),
    "an array of 2^40 strings": (
        head(key("a", ARRAY, struct.pack("<IQ", STRING, 1 << 40)), keys=1),
        f"an array of {1 << 40} strings",
    ),
    "arrays of arrays": (head(key("a", ARRAY, struct.pack("<IQ", ARRAY, 1) * 5000), keys=1), "the unknown type 9"),
    "a value of no type": (head(key("a", 77, bytes(8)), keys=1), "'a' has the unknown type 77"),
    "an arch that is a number": (head(key("general.architecture", U32, u32(7)), keys=1), "is no text"),
    "many dimensions": (head(tensor("a", (1,) * 5, 0), tensors=1) + bytes(99), "'a' has 5 dimensions"),
    "a tensor of 2^256 elements": (padded(head(tensor("a", (HUGE,) * 4, 0), tensors=1)), "before the data of a"),
    "a tensor far away": (padded(head(tensor("a", (1,), 0, offset=HUGE), tensors=1)), "before the data of a"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_model_is_refused_in_little_memory(case: str) -> None:
    data, words = HOSTILE[case]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r".") as caught:
            parse_header(data, SIZES)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert words in str(caught.value)


def test_arrays_share_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    half = key("a", ARRAY, struct.pack("<IQ", STRING, 2) + text("") * 2)
    monkeypatch.setattr("forkguard.core.gguf_header.MOST_STRINGS", 4)
    assert parse_header(head(half, half, keys=2), SIZES).arch == ""
    monkeypatch.setattr("forkguard.core.gguf_header.MOST_STRINGS", 3)
    with pytest.raises(ValueError, match="an array of 2 strings"):
        parse_header(head(half, half, keys=2), SIZES)


def test_a_head_that_takes_more_than_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forkguard.core.gguf_header.MOST_BYTES", 40)
    with pytest.raises(ValueError, match="its head is too long"):
        parse_header(whole(), SIZES)
    assert MOST_STRINGS * 8 <= MOST_BYTES


def read(data: bytes) -> ModelHeader | None:
    """The head, None where it is refused in words; nothing else may come of any bytes."""
    try:
        return parse_header(data, SIZES)
    except ValueError as error:
        return None if str(error) else ModelHeader("no words", "", ())


@given(at=st.integers(0, len(whole()) - 1), patch=st.binary(min_size=1, max_size=12), cut=st.integers(0, 400))
def test_any_damage_is_read_or_refused(at: int, patch: bytes, cut: int) -> None:
    data = bytearray(whole())
    data[at : at + len(patch)] = patch
    found = read(bytes(data[: len(data) - cut]))
    assert found is None or len(found.tensors) <= len(data)


@given(rest=st.binary(max_size=300), version=st.sampled_from([2, 3]))
def test_any_bytes_behind_the_magic_are_read_or_refused(rest: bytes, version: int) -> None:
    found = read(b"GGUF" + u32(version) + rest)
    assert found is None or found.arch != "no words"
