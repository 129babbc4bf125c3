"""Writes a probe: a tiny target and its draft, from a seed, into a folder."""

from collections.abc import Callable
from pathlib import Path

from forkguard.core.probes.models import Model, ProbeFile, ProbePair
from forkguard.core.probes.registry import DEFAULT_SEED, DEFAULT_SIZE, build_probe, draft_word, probe_family

ModelWriter = Callable[[Path, Model], str]
"""Writes a model to a path, whole or not at all, and returns the SHA-256 of the file."""


def write_probe(
    arch: str,
    folder: Path,
    *,
    write: ModelWriter,
    size: str = DEFAULT_SIZE,
    draft: str | None = None,
    seed: int = DEFAULT_SEED,
) -> ProbePair:
    """Write the probe for an arch into `folder` (made when missing), replacing files of the same names.

    `draft` is a draft type, the arch's usual one without it. Raises `UsageProblem` for an arch, a size, a draft type
    or a seed that there is no probe for.
    """
    models = build_probe(arch, size=size, draft=draft, seed=seed)
    suffix = draft_word(probe_family(arch), draft)

    def put(role: str, model: Model) -> ProbeFile:
        path = folder / f"{arch}-{size}-{role}.gguf"
        digest = write(path, model)
        return ProbeFile(str(path), model.arch, digest, path.stat().st_size)

    return ProbePair(
        arch,
        size,
        seed,
        target=put("target", models.target),
        draft=put(suffix, models.draft) if models.draft is not None else None,
        spec_type=models.spec_type,
        max_width=models.max_width,
        args=models.args,
    )
