"""A plain numpy LFM2: what a probe's target says, without a server. One token at a time, greedy."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from forkguard.core.probes.models import Model

Array = npt.NDArray[Any]


@dataclass
class Lfm2:
    """One sequence of the model: the last inputs of each convolution, and each attention's keys and values."""

    weights: dict[str, Array]
    keys: dict[str, Any]
    columns: dict[int, list[Array]] = field(default_factory=dict)
    cache: dict[int, list[tuple[Array, Array]]] = field(default_factory=dict)
    position: int = 0

    @classmethod
    def of(cls, model: Model) -> "Lfm2":
        """A fresh sequence."""
        weights = {tensor.name.removesuffix(".weight"): tensor.data.astype(np.float32) for tensor in model.tensors}
        return cls(weights, {key.name.removeprefix("lfm2."): key.value for key in model.keys})

    def greedy(self, prompt: list[int], count: int) -> list[int]:
        """The `count` tokens that follow the prompt."""
        for token in prompt[:-1]:
            self.step(token)
        last, said = prompt[-1], []
        for _ in range(count):
            last = int(np.argmax(self.step(last)))
            said.append(last)
        return said

    def step(self, token: int) -> Array:
        """Take one token; the logits of the next."""
        current = self.weights["token_embd"][token]
        for block, kv_heads in enumerate(self.keys["attention.head_count_kv"]):
            name = f"blk.{block}."
            normed = self._norm(current, f"{name}attn_norm")
            current = current + (self._attention(normed, block) if kv_heads else self._convolution(normed, block))
            normed = self._norm(current, f"{name}ffn_norm")
            gate, up = self.weights[f"{name}ffn_gate"] @ normed, self.weights[f"{name}ffn_up"] @ normed
            current = current + self.weights[f"{name}ffn_down"] @ (gate / (1 + np.exp(-gate)) * up)
        self.position += 1
        return np.asarray(self.weights["output"] @ self._norm(current, "token_embd_norm"))

    def _norm(self, value: Array, name: str) -> Array:
        square = np.mean(value * value, axis=-1, keepdims=True) + self.keys["attention.layer_norm_rms_epsilon"]
        return np.asarray(value / np.sqrt(square) * self.weights[name])

    def _convolution(self, value: Array, block: int) -> Array:
        name = f"blk.{block}.shortconv."
        kernel = self.weights[f"{name}conv"]
        before, after, inner = np.split(self.weights[f"{name}in_proj"] @ value, 3)
        columns = self.columns.setdefault(block, [np.zeros_like(inner)] * (kernel.shape[1] - 1))
        columns.append(before * inner)
        mixed = sum(column * kernel[:, place] for place, column in enumerate(columns))
        columns.pop(0)
        return np.asarray(self.weights[f"{name}out_proj"] @ (after * mixed))

    def _attention(self, value: Array, block: int) -> Array:
        name, head = f"blk.{block}.", len(self.weights[f"blk.{block}.attn_q_norm"])
        query, key, values = (
            (self.weights[f"{name}attn_{letter}"] @ value).reshape(-1, head) for letter in ("q", "k", "v")
        )
        query = self._turn(self._norm(query, f"{name}attn_q_norm"))
        key = self._turn(self._norm(key, f"{name}attn_k_norm"))
        cache = self.cache.setdefault(block, [])
        cache.append((key, values))
        share = len(query) // len(key)
        found = []
        for number, one in enumerate(query):
            scores = np.array([past[number // share] @ one for past, _ in cache]) / np.sqrt(head)
            weights = np.exp(scores - scores.max())
            mixed = sum(weight * past[number // share] for weight, (_, past) in zip(weights, cache, strict=True))
            found.append(mixed / weights.sum())
        return np.asarray(self.weights[f"{name}attn_output"] @ np.concatenate(found))

    def _turn(self, value: Array) -> Array:
        """Rotary position, halves paired."""
        half = value.shape[-1] // 2
        angle = self.position * self.keys["rope.freq_base"] ** (-np.arange(half) / half)
        first, second = value[:, :half], value[:, half:]
        cos, sin = np.cos(angle), np.sin(angle)
        return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
