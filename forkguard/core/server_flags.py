"""The flags of llama-server as a set that can be compared: which of them decide what it computes, and how fast."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forkguard.errors import UsageProblem

_NAMES = {
    "-m": "--model",
    "-md": "--model-draft",
    "--spec-draft-model": "--model-draft",
    "-mu": "--model-url",
    "-hf": "--hf-repo",
    "-hfr": "--hf-repo",
    "-hff": "--hf-file",
    "-hfd": "--hf-repo-draft",
    "-hfrd": "--hf-repo-draft",
    "--spec-draft-hf": "--hf-repo-draft",
    "-dr": "--docker-repo",
    "-c": "--ctx-size",
    "-np": "--parallel",
    "-b": "--batch-size",
    "-ub": "--ubatch-size",
    "-t": "--threads",
    "-tb": "--threads-batch",
    "-ngl": "--n-gpu-layers",
    "--gpu-layers": "--n-gpu-layers",
    "-ngld": "--n-gpu-layers-draft",
    "--gpu-layers-draft": "--n-gpu-layers-draft",
    "-fa": "--flash-attn",
    "-ctk": "--cache-type-k",
    "-ctv": "--cache-type-v",
    "-ts": "--tensor-split",
    "-sm": "--split-mode",
    "-mg": "--main-gpu",
    "-dev": "--device",
    "-ot": "--override-tensor",
    "-otd": "--override-tensor-draft",
    "--spec-draft-override-tensor": "--override-tensor-draft",
    "-l": "--logit-bias",
    "-cmoe": "--cpu-moe",
    "-ncmoe": "--n-cpu-moe",
    "-n": "--predict",
    "--n-predict": "--predict",
    "--draft": "--spec-draft-n-max",
    "--draft-n": "--spec-draft-n-max",
    "--draft-max": "--spec-draft-n-max",
    "--draft-min": "--spec-draft-n-min",
    "--draft-n-min": "--spec-draft-n-min",
    "-a": "--alias",
    "-to": "--timeout",
    "-lv": "--verbosity",
    "--log-verbosity": "--verbosity",
    "-v": "--verbose",
}
"""Other spellings of one flag, as upstream has them."""

MODELS = ("--model", "--model-draft")
_ELSEWHERE = {
    *MODELS, "--host", "--port", "--alias", "--api-key", "--api-key-file", "--api-prefix", "--path", "--timeout",
    "--threads-http", "--ssl-key-file", "--ssl-cert-file", "--metrics", "--slots", "--no-slots", "--props",
    "--webui", "--no-webui", "--ui", "--no-ui", "--tags", "--verbosity", "--verbose", "--log-file",
    "--log-disable", "--log-colors", "--log-prefix", "--log-timestamps", "--no-log-prefix",
}  # fmt: skip
"""Where a server listens, what it logs, and the models, which are compared by their hashes."""

_ADDED_UP = {
    "--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled", "--override-kv", "--override-tensor",
    "--override-tensor-draft", "--logit-bias", "--dry-sequence-breaker",
}  # fmt: skip
"""Flags of which a server takes every one that is given; of the others it takes the last."""

_GATES_OWN = {
    "--host": "the gate chooses where each server listens",
    "--port": "the gate chooses where each server listens",
    "--api-key": "the gate sends no key, and a receipt would hold this one",
    "--api-key-file": "the gate sends no key",
    "--api-prefix": "the gate asks at the server's root",
    "--ssl-key-file": "the gate asks without TLS",
    "--ssl-cert-file": "the gate asks without TLS",
    "--model": "name it as `target`",
    "--model-url": "name a file as `target`",
    "--hf-repo": "name a file as `target`",
    "--docker-repo": "name a file as `target`",
    "--models-dir": "name a file as `target`",
    "--models-preset": "name a file as `target`",
    "--hf-repo-draft": "name a file as `draft`, or in `drafts`",
    "--model-draft": "name it as `draft`, or in `drafts`",
    "--spec-type": "name it as `spec_type`",
}
"""Flags that would make a server other than the one that the receipt tells of, and what to do instead."""

_STEERED = "LLAMA_ARG_"
_MODEL_VARIABLES = {
    "LLAMA_ARG_MODEL": "--model",
    "LLAMA_ARG_MODEL_DRAFT": "--model-draft",
    "LLAMA_ARG_SPEC_DRAFT_MODEL": "--model-draft",
}
"""The variables by which a server takes models that no flag names."""

_NUMBER = re.compile(r"-\d")


@dataclass(frozen=True, slots=True)
class FlagSet:
    """Long names with their values (empty where a flag has none), whatever their order was."""

    values: Mapping[str, str]

    def words(self) -> tuple[str, ...]:
        """As words of a command line, by name."""
        pairs = ((name, value) for name, value in sorted(self.values.items()))
        return tuple(word for pair in pairs for word in pair if word)

    def differences(self, other: "FlagSet") -> tuple[str, ...]:
        """What `other` has otherwise, in words of a person."""
        told = []
        for name in sorted({*self.values, *other.values}):
            mine, theirs = self.values.get(name), other.values.get(name)
            if mine != theirs:
                told.append(f"{name}: {_shown(mine)}, not {_shown(theirs)}")
        return tuple(told)


def split_flags(text: str) -> tuple[str, ...]:
    """The words of a command line, quoted as a shell quotes. Raises `UsageProblem` for an open quote."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageProblem(
            f"these flags cannot be split into words: {error}", where="--flags", hint="close the quote"
        ) from error


def flag_set(words: Sequence[str]) -> FlagSet:
    """The flags that count. A later one of the same name wins, or is added, as the server has it.

    >>> flag_set(["-c", "8", "--port", "80", "--ctx-size", "9", "-n", "-1", "--no-mmap"]).words()
    ('--ctx-size', '9', '--no-mmap', '--predict', '-1')
    """
    values: dict[str, str] = {}
    for name, value in _pairs(words):
        if name in _ADDED_UP and name in values:
            values[name] += f" {value}"
        elif name not in _ELSEWHERE:
            values[name] = value
    return FlagSet(values)


def needs_file(spec_type: str) -> bool:
    """Whether a draft of this `--spec-type` is a file: n-grams are looked up, and MTP can be in the target itself.

    >>> [needs_file(name) for name in ("draft-dspark", "draft-mtp", "ngram-simple")]
    [True, False, False]
    """
    return spec_type.startswith("draft-") and spec_type != "draft-mtp"


def gates_own(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The flags among `words` that the gate gives itself, as they are written, each with the reason.

    >>> gates_own(["-c", "8", "-m", "t.gguf", "--port=80"])
    (('-m', 'name it as `target`'), ('--port', 'the gate chooses where each server listens'))
    """
    names = [word.partition("=")[0] for word in words if word.startswith("-")]
    return tuple((name, _GATES_OWN[_NAMES.get(name, name)]) for name in names if _NAMES.get(name, name) in _GATES_OWN)


def flagged_models(words: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The model files that the flags name, or else the environment, target before draft.

    >>> flagged_models(["-md", "d.gguf", "-m", "t.gguf"])
    ('t.gguf', 'd.gguf')
    """
    set_ = environment or {}
    named = {flag: set_[name] for name, flag in _MODEL_VARIABLES.items() if set_.get(name)} | dict(_pairs(words))
    return tuple(named[name] for name in MODELS if named.get(name))


def steering_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables by which a server takes flags that count; a gated server never has any. Models are compared.

    >>> steering_variables({"LLAMA_ARG_CTX_SIZE": "1", "LLAMA_ARG_HOST": "0", "PATH": "/bin"})
    ('LLAMA_ARG_CTX_SIZE',)
    """
    elsewhere = {_STEERED + name.removeprefix("--").replace("-", "_").upper() for name in _ELSEWHERE}
    elsewhere |= _MODEL_VARIABLES.keys()
    return tuple(sorted(name for name in environment if name.startswith(_STEERED) and name not in elsewhere))


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("-") and len(word) > 1 and not _NUMBER.match(word):
            name, equals, value = word.partition("=")
            pairs.append((_NAMES.get(name, name), value if equals else ""))
        elif pairs:
            name, value = pairs[-1]
            pairs[-1] = (name, f"{value} {word}" if value else word)
        else:
            pairs.append((word, ""))
    return pairs


def _shown(value: str | None) -> str:
    return "without it" if value is None else value or "given"
