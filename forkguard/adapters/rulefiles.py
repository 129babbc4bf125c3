"""The wiring rules that ship with forkguard."""

from functools import lru_cache
from importlib import resources

from forkguard.core.rulebook import read_rules
from forkguard.core.rules import Rule


@lru_cache(maxsize=1)
def bundled_rules() -> tuple[Rule, ...]:
    """Every rule of `forkguard/rules/*.toml`, in the order of the files' names."""
    folder = resources.files("forkguard") / "rules"
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name
    )
    return tuple(
        rule for entry in files for rule in read_rules(entry.read_text(encoding="utf-8"), name=f"rules/{entry.name}")
    )
