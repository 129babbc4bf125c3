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
from tests.support.repos import GitFolder

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
def servers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], str]:
    """The server of a fork's ref, built once; one worker at a time builds."""

    @functools.cache
    def of(ref: str, fork: Path) -> str:
        folder = tmp_path_factory.mktemp("build")
        (folder / "upstream-map.toml").write_text(described(fork, ref=ref, arch="llama", word="simple"))
        with filelock.FileLock(platformdirs.user_cache_path("forkguard", appauthor=False) / "test-builds.lock"):
            built = forkguard("build", "--format", "json", cwd=folder)
        assert built.status == 0, built.err
        (server,) = json.loads(built.out)["binaries"]
        return str(server)

    return of


def described(fork: Path, *, ref: str, arch: str, word: str) -> str:
    enum = arch.upper().replace("-", "_")
    return MAP.format(fork=fork, ref=ref, arch=arch, enum=enum, spec_type=DRAFTS[word].spec_type)


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
    real_sources: RealSources, servers: Callable[[str, Path], str], tmp_path: Path, *, arch: str, word: str
) -> None:
    map_ = described(real_sources.fork, ref="production", arch=arch, word=word)
    holds(gated(tmp_path, map_, server=servers("production", real_sources.fork), arch=arch, size="small"))


@pytest.mark.real
@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("arch", "size", "word"), EVERY)
def test_every_probe_with_every_draft_that_it_lists(
    real_sources: RealSources, servers: Callable[[str, Path], str], tmp_path: Path, *, arch: str, size: str, word: str
) -> None:
    map_ = described(real_sources.fork, ref="b10549", arch=arch, word=word)
    holds(gated(tmp_path, map_, server=servers("b10549", real_sources.fork), arch=arch, size=size))


WIDEST = {"lfm2": 15, "nemotron_h": 23}
"""Draft widths at which the graph of the deep size outgrows the nodes that upstream allows it."""


@pytest.mark.real
@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("arch", list(WIDEST))
def test_the_deep_size_outgrows_the_node_budget_and_a_larger_one_mends_it(
    real_sources: RealSources, real_fork: Path, servers: Callable[[str, Path], str], tmp_path: Path, *, arch: str
) -> None:
    """Upstream's `graph_max_nodes()` lists neither of the two archs, though both keep states to roll back."""
    map_ = described(real_sources.fork, ref="b10549", arch=arch, word="dspark").replace("[3]", f"[{WIDEST[arch]}]")
    document = gated(tmp_path, map_, server=servers("b10549", real_sources.fork), arch=arch, size="deep")
    crash = {check["name"]: check for check in document["checks"]}["crash"]
    assert (document["verdict"], crash["class"], crash["trigger"]) == ("fail", "abort", "only with the draft")
    assert {one["stage"] for one in crash["evidence"]} == {"context"}

    fork = GitFolder(real_fork)
    fork.git("checkout", "-q", "-B", "mended", "b10549")
    listed = "model.arch == LLM_ARCH_QWEN35 ||"
    path = real_fork / "src" / "llama-context.cpp"
    source = path.read_text()
    assert source.count(listed) == 1
    more = " ".join(f"model.arch == LLM_ARCH_{name.upper()} ||" for name in WIDEST)
    path.write_text(source.replace(listed, f"{listed} {more}"))
    fork.git("commit", "-q", "-a", "-m", "both archs get the larger node budget")
    mended = servers("mended", real_fork)
    document = gated(tmp_path, map_, server=mended, arch=arch, size="deep")
    assert document["verdict"] == "pass", document["checks"]
