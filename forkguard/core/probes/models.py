"""A model file as a value: architecture, metadata and tensors, in the order in which they are written."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy.typing as npt

Value: TypeAlias = bool | int | float | str | Sequence[int] | Sequence[float] | Sequence[str]


class Stored(StrEnum):
    """How a metadata value is stored; `ARRAY` takes its element type from its elements."""

    U32 = "u32"
    F32 = "f32"
    BOOL = "bool"
    STRING = "string"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class Key:
    """One metadata entry."""

    name: str
    stored: Stored
    value: Value


def flag(name: str, *, on: bool) -> Key:
    """A metadata entry that is a yes or a no."""
    return Key(name, Stored.BOOL, on)


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A named tensor; the last axis of `data` is the one that is contiguous in the file."""

    name: str
    data: npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A whole model file."""

    arch: str
    keys: tuple[Key, ...]
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class ProbeModels:
    """A target, its draft, and how a server is told to use the draft.

    `max_width` is the largest number of tokens that the draft gives at once.
    """

    target: Model
    draft: Model
    spec_type: str
    max_width: int


@dataclass(frozen=True, slots=True)
class ProbeFile:
    """One written model file. `size` is in bytes."""

    path: str
    arch: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ProbePair:
    """A written pair, and what a server must be told: `--spec-type`, and at most `max_width` draft tokens."""

    arch: str
    size: str
    seed: int
    target: ProbeFile
    draft: ProbeFile
    spec_type: str
    max_width: int
