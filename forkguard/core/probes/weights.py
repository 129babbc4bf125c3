"""Weights that are the same on every machine: integers from a hash, scaled by a power of two.

No random generator of a library is used (their streams may change with a version) and no rounding happens: every
weight is k / 2**shift with |k| < 2048, which half and single precision hold exactly.
"""

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1


def name_hash(text: str) -> int:
    """FNV-1a of the text's UTF-8 bytes, 64 bits.

    >>> hex(name_hash("a"))
    '0xaf63dc4c8601ec8c'
    """
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


def noise(name: str, count: int, *, seed: int) -> npt.NDArray[np.uint64]:
    """`count` words of 64 bits: splitmix64 over a counter that starts at hash(name) xor a mixed seed."""
    start = np.uint64(name_hash(name) ^ (seed * 0x9E3779B97F4A7C15 & _MASK))
    with np.errstate(over="ignore"):
        words = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def integers(name: str, shape: tuple[int, ...], *, seed: int, top: int) -> npt.NDArray[np.int64]:
    """Integers, uniform on -top..top (top < 2048)."""
    return between(name, shape, seed=seed, low=-top, high=top)


def between(name: str, shape: tuple[int, ...], *, seed: int, low: int, high: int) -> npt.NDArray[np.int64]:
    """Integers, uniform on low..high (both within +-2048)."""
    words = noise(name, int(np.prod(shape)), seed=seed) >> np.uint64(40)
    wide = words.astype(np.int64) * (high - low + 1) >> 24
    return (wide + low).reshape(shape)


def scaled(values: npt.NDArray[np.int64], *, shift: int) -> npt.NDArray[np.float32]:
    """The integers divided by 2**shift, exactly."""
    return (values.astype(np.float32) * np.float32(2.0**-shift)).astype(np.float32)


def permutation(name: str, count: int, *, seed: int) -> list[int]:
    """0..count-1 in an order drawn from the seed (sorted by hash, ties by number)."""
    keys = [int(word) for word in noise(name, count, seed=seed)]
    return sorted(range(count), key=lambda place: (keys[place], place))
