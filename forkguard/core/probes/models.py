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

    A draft type that guesses from the text alone has no draft model. `max_width` is the largest number of tokens
    that the draft gives at once, `args` are further words for the server.
    """

    target: Model
    draft: Model | None
    spec_type: str
    max_width: int
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeFile:
    """One written model file. `size` is in bytes."""

    path: str
    arch: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ProbePair:
    """A written pair, and what a server must be told: `--spec-type`, at most `max_width` draft tokens, and `args`.

    `draft` is None where the draft type needs no model.
    """

    arch: str
    size: str
    seed: int
    target: ProbeFile
    draft: ProbeFile | None
    spec_type: str
    max_width: int
    args: tuple[str, ...] = ()
