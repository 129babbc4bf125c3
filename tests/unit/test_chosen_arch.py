"""Which arch a gate without `--arch` is about."""

import pytest

from forkguard.cli.gate_trials import chosen_arch
from forkguard.core.mapfile import parse_map
from forkguard.errors import UsageProblem

ARCH = '[arch.{name}]\nenum = "LLM_ARCH_{upper}"\nfiles = ["src/models/{name}.cpp"]\n'


def chosen(*archs: str, defaults: str = "", asked: str | None = None) -> str:
    tables = "".join(ARCH.format(name=name, upper=name.upper()) for name in archs)
    text = f'[upstream]\nremote = "upstream"\nref = "upstream/master"\n[defaults]\n{defaults}\n{tables}'
    return chosen_arch(parse_map(text, name="upstream-map.toml"), asked)


def test_the_one_asked_for_else_the_first_of_the_defaults_else_the_only_one() -> None:
    assert chosen("otter", "heron", asked="heron") == "heron"
    assert chosen("otter", "heron", defaults='archs = ["heron", "otter"]') == "heron"
    assert chosen("otter") == "otter"


@pytest.mark.parametrize(
    ("archs", "what", "hint"),
    [
        ((), "no arch is named", "forkguard gate --arch NAME, or list archs in [defaults] of the map"),
        (
            ("otter", "heron"),
            "the map watches 2 archs, and none is named",
            "forkguard gate --arch otter, or list archs in [defaults] of the map",
        ),
    ],
)
def test_none_or_several_decide_nothing(archs: tuple[str, ...], what: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        chosen(*archs)
    assert (problem.value.what, problem.value.hint) == (what, hint)
