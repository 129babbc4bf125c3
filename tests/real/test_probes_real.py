"""Every probe on a real build: it loads, its text wanders, and its draft is right part of the time only."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import platformdirs
import pytest

from forkguard.core.probes.drafts import DRAFTS
from forkguard.core.probes.registry import PROBES
from tests.support.commands import forkguard
from tests.support.real_sources import RealSources

MAP = """\
[fork]
path = "{fork}"
ref = "{ref}"

[upstream]
remote = "upstream"
ref = "upstream/master"

[gate]
widths = [3]
slots = [1]
prompts = "prompts.toml"

[arch.{arch}]
enum = "LLM_ARCH_{enum}"
probe = "{arch}"

[arch.{arch}.gate]
spec_type = "{spec_type}"
"""
PROMPTS = "".join(
    f'[[prompt]]\nname = "{name}"\ntext = "{text}"\ntokens = 128\n'
    for name, text in (
        ("tale", "The tide comes in"),
        ("code", "fn main() {"),
        ("list", "a b c d e f g h i j k l m n"),
    )
)
EVERY = [
    (family.name, size.name, word) for family in PROBES.values() for size in family.sizes for word in family.drafts
]
DISTINCT = 32
"""Of 128 tokens; a text that has found a loop has far fewer."""


@pytest.fixture(scope="module")
def servers(real_sources: RealSources, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The server of a ref, built once; one worker at a time builds."""

    @functools.cache
    def of(ref: str) -> str:
        folder = tmp_path_factory.mktemp("build")
        (folder / "upstream-map.toml").write_text(described(real_sources, ref=ref, arch="llama", word="simple"))
        with filelock.FileLock(platformdirs.user_cache_path("forkguard", appauthor=False) / "test-builds.lock"):
            built = forkguard("build", "--format", "json", cwd=folder)
        assert built.status == 0, built.err
        (server,) = json.loads(built.out)["binaries"]
        return str(server)

    return of


def described(sources: RealSources, *, ref: str, arch: str, word: str) -> str:
    enum = arch.upper().replace("-", "_")
    return MAP.format(fork=sources.fork, ref=ref, arch=arch, enum=enum, spec_type=DRAFTS[word].spec_type)


def gated(folder: Path, map_: str, *, server: str, arch: str, size: str) -> dict[str, Any]:
    (folder / "upstream-map.toml").write_text(map_)
    (folder / "prompts.toml").write_text(PROMPTS)
    outcome = forkguard(
        "gate", "--arch", arch, "--binary", server, "--probe-size", size, "--format", "json", cwd=folder
    )
    assert outcome.out, outcome.err
    document: dict[str, Any] = json.loads(outcome.out)
    return document


def holds(document: dict[str, Any]) -> None:
    """The gate passes, the text wanders, and drafts are accepted and refused.

    Texts are the same with the draft as without, or part where rounding decides, which differs by machine.
    """
    checks = {check["name"]: check for check in document["checks"]}
    assert document["verdict"] == "pass", checks
    assert checks["determinism"]["class"] in {"identical", "near-tie"}
    assert checks["crash"]["class"] is None
    first = [arm for arm in document["arms"] if not arm["recheck"]]
    plain, drafting = ([arm for arm in first if bool(arm["width"]) is drafts] for drafts in (False, True))
    texts = [request["answer"]["tokens"] for arm in plain for request in arm["requests"]]
    assert len(texts) == 6
    assert all(len(set(tokens[:128])) >= DISTINCT for tokens in texts), [len(set(tokens[:128])) for tokens in texts]
    assert drafting
    assert all(0 < arm["accepted"] < arm["drafted"] for arm in drafting)


@pytest.mark.real
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("arch", "word"), [("llama", "simple"), ("qwen35", "mtp")])
def test_a_plain_draft_and_a_block_that_guesses_ahead(
    real_sources: RealSources, servers: Callable[[str], str], tmp_path: Path, *, arch: str, word: str
) -> None:
    map_ = described(real_sources, ref="production", arch=arch, word=word)
    holds(gated(tmp_path, map_, server=servers("production"), arch=arch, size="small"))


@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("arch", "size", "word"), EVERY)
def test_every_probe_with_every_draft_that_it_lists(
    real_sources: RealSources, servers: Callable[[str], str], tmp_path: Path, *, arch: str, size: str, word: str
) -> None:
    map_ = described(real_sources, ref="b10549", arch=arch, word=word)
    holds(gated(tmp_path, map_, server=servers("b10549"), arch=arch, size=size))
