"""The head of a GGUF model file, read in bounded time and memory whatever the bytes are.

The file may come from a stranger: no count or length in it is believed before the bytes are there.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from mmap import mmap

VERSIONS = (2, 3)
MOST_KEYS = 1 << 16
MOST_TENSORS = 1 << 20
MOST_STRINGS = 1 << 24
"""In all arrays together; the largest vocabularies with their merges have about a million."""
MOST_BYTES = 256 << 20
"""Of keys and tensor names; the largest real ones take about 20 MiB."""
MOST_DIMENSIONS = 4

_STRING, _ARRAY, _U32 = 8, 9, 4
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, _U32: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """What the head of a model file says: architecture, name, and the names of its tensors."""

    arch: str
    name: str
    tensors: tuple[str, ...]


def parse_header(data: bytes | mmap, sizes: Mapping[int, tuple[int, int]]) -> ModelHeader:
    """The head of a whole file; `sizes` gives the elements and the bytes of a block for each known tensor type.

    Raises `ValueError`, in words, for what is no GGUF file, ends too soon, or claims more than any model has. Of a
    tensor whose type is not known only the place of its first byte is looked at.
    """
    walk = _Walk(data)
    keys = _Keys()
    tensor_count, key_count = walk.start()
    for _ in range(key_count):
        _read_key(walk, keys)
    tensors = [_read_tensor(walk, sizes) for _ in range(tensor_count)]
    start = walk.at + -walk.at % keys.alignment
    for name, offset, length in tensors:
        if start + offset + length > len(data):
            raise ValueError(f"it ends before the data of {name}")
    return ModelHeader(keys.arch, keys.name, tuple(name for name, _, _ in tensors))


@dataclass(slots=True)
class _Keys:
    arch: str = ""
    name: str = ""
    alignment: int = _ALIGNMENT


class _Walk:
    """The bytes from the front on. No step goes beyond the end, or beyond what a head may take."""

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data
        self._end = min(len(data), MOST_BYTES)
        self._order = "<"
        self._strings = MOST_STRINGS
        self.at = 0

    def start(self) -> tuple[int, int]:
        """Read magic and version, and return how many tensors and keys there are."""
        if self._data[: self.step(4)] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self.number("I")
        if version & 0xFFFF == 0:  # written on a machine of the other byte order
            self._order, version = ">", version >> 24
        if version not in VERSIONS:
            raise ValueError(f"version {version} of the format is not known")
        tensors, keys = self.number("Q"), self.number("Q")
        if tensors > MOST_TENSORS or keys > MOST_KEYS:
            raise ValueError(f"it claims {tensors} tensors and {keys} keys")
        return tensors, keys

    def step(self, length: int) -> int:
        """Go on by so many bytes, and return the new place."""
        if length > self._end - self.at:
            raise ValueError("it ends too soon" if self._end == len(self._data) else "its head is too long")
        self.at += length
        return self.at

    def number(self, form: str) -> int:
        """The next unsigned number, `I` (four bytes) or `Q` (eight)."""
        before = self.at
        self.step(4 if form == "I" else 8)
        return int(struct.unpack_from(self._order + form, self._data, before)[0])

    def text(self) -> str:
        """The next string; what is no UTF-8 becomes U+FFFD."""
        length = self.number("Q")
        before = self.at
        return self._data[before : self.step(length)].decode("utf-8", "replace")

    def skip_strings(self, count: int) -> None:
        """Go beyond so many strings."""
        self._strings -= count
        if self._strings < 0:
            raise ValueError(f"it claims an array of {count} strings")
        for _ in range(count):
            self.step(self.number("Q"))


def _read_key(walk: _Walk, keys: _Keys) -> None:
    key, kind = walk.text(), walk.number("I")
    if kind == _ARRAY:
        _skip_array(walk, key)
    elif kind == _STRING:
        text = walk.text()
        if key == "general.architecture":
            keys.arch = text
        elif key == "general.name":
            keys.name = text
    elif key == "general.architecture":
        raise ValueError("general.architecture is no text")
    elif key == "general.alignment":
        keys.alignment = _alignment(walk, kind)
    else:
        walk.step(_width(kind, key))


def _alignment(walk: _Walk, kind: int) -> int:
    value = walk.number("I") if kind == _U32 else 0
    if value == 0 or value & (value - 1):
        raise ValueError("general.alignment is no power of two")
    return value


def _skip_array(walk: _Walk, key: str) -> None:
    kind, count = walk.number("I"), walk.number("Q")
    if kind == _STRING:
        walk.skip_strings(count)
    else:
        walk.step(_width(kind, key) * count)


def _width(kind: int, key: str) -> int:
    if kind not in _WIDTHS:
        raise ValueError(f"the value of {key!r} has the unknown type {kind}")
    return _WIDTHS[kind]


def _read_tensor(walk: _Walk, sizes: Mapping[int, tuple[int, int]]) -> tuple[str, int, int]:
    """A tensor's name, the place of its data behind the head, and how many bytes that takes (0: not known)."""
    name, dimensions = walk.text(), walk.number("I")
    if dimensions > MOST_DIMENSIONS:
        raise ValueError(f"{name!r} has {dimensions} dimensions")
    elements = math.prod(walk.number("Q") for _ in range(dimensions))
    kind, offset = walk.number("I"), walk.number("Q")
    block, width = sizes.get(kind, (1, 0))
    return name, offset, elements * width // block
