"""The map as text: what is read, and that every mistake is told with file, line and key."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkguard.core.map_lines import key_lines, line_of
from forkguard.core.map_models import (
    AcceptTable,
    ArchTable,
    BuildTable,
    DefaultsTable,
    ForkTable,
    GateTable,
    NightlyTable,
    UpstreamTable,
)
from forkguard.core.mapfile import parse_map
from forkguard.errors import ExitCode, UsageProblem

WHOLE = """\
[fork]
path = "../fork"
ref = "production"

[upstream]
remote = "upstream"
ref = "upstream/master"
base = "b10531"

[defaults]
trees = "trees"
cache = "cache"
archs = ["heron"]

[arch.heron]
enum = "LLM_ARCH_HERON"
files = ["src/models/heron.cpp"]
registries = ["src/llama-arch.cpp:llm_arch_is_hybrid"]
pulls = [201, 205]
probe = "heron"

[arch.heron.gate]
widths = [3, 7]
fallback = "fail"
near_tie_gap = 0.05
timeout = 30

[arch."heron.moe"]
enum = "LLM_ARCH_HERONMOE"
graph = "heron"

[[accept]]
id = "heron/layer-input"
reason = "not served"
by = "Ada"
until = 2026-12-31

[[accept]]
id = "heron/other"
reason = "ours"
by = "Ada"

[build.cpu]
cmake = ["-DGGML_NATIVE=OFF"]
targets = ["llama-server"]
generator = "Ninja"
env = { CC = "gcc" }
jobs = 2

[gate]
checks = ["crash", "liveness"]

[nightly]
archs = ["heron"]
"""


def problem(text: str) -> UsageProblem:
    with pytest.raises(UsageProblem) as caught:
        parse_map(text, name="m.toml")
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.hint
    return caught.value


def test_every_table_is_read() -> None:
    read = parse_map(WHOLE, name="m.toml")
    heron = read.arch["heron"]
    assert (read.fork.path, read.fork.ref) == ("../fork", "production")
    assert (read.upstream.remote, read.upstream.ref, read.upstream.base) == ("upstream", "upstream/master", "b10531")
    assert read.defaults.archs == ("heron",)
    assert heron.pulls == (201, 205)
    assert heron.gate is not None
    assert (heron.gate.widths, heron.gate.fallback, heron.gate.near_tie_gap, heron.gate.timeout) == (
        (3, 7), "fail", 0.05, 30,
    )  # fmt: skip
    assert read.arch["heron.moe"].graph == "heron"
    assert [entry.until for entry in read.accept] == [date(2026, 12, 31), None]
    assert read.build["cpu"].env == {"CC": "gcc"}
    assert read.gate.checks == ("crash", "liveness")
    assert read.nightly.archs == ("heron",)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('path = "../fork"', 'pth = "../fork"', 2, ("unknown key fork.pth", "did you mean fork.path?")),
        ("[defaults]", "[default]", 10, ("unknown key default:", "did you mean defaults?")),
        ("enum = \"LLM_ARCH_HERON\"\n", "enm = \"LLM_ARCH_HERON\"\n", 15, ("arch.heron.enum is missing",)),
        ("pulls = [201, 205]", 'pulls = [201, "205"]', 19, ("arch.heron.pulls[1] must be a whole", 'not "205"')),
        ("pulls = [201, 205]", "pulls = 201", 19, ("arch.heron.pulls must be a list, not 201",)),
        ("pulls = [201, 205]", "pulls = [true]", 19, ("arch.heron.pulls[0] must be a whole number, not true",)),
        ("pulls = [201, 205]", "pulls = [0]", 19, ("arch.heron.pulls[0]", "greater than 0")),
        ('probe = "heron"', "probe = 3", 20, ("arch.heron.probe must be a string, not 3",)),
        ("widths = [3, 7]", "width = [3, 7]", 23, ("unknown key arch.heron.gate.width", "arch.heron.gate.widths?")),
        ('fallback = "fail"', 'fallback = "maybe"', 24, ("arch.heron.gate.fallback must be 'pass' or 'fail'",)),
        ('graph = "heron"', 'graph = "heron.moe"', 30, ("arch.heron.moe.graph names the arch itself",)),
        ("until = 2026-12-31", 'until = "2026-12-31"', 36, ("accept[0].until must be a date",)),
        ('id = "heron/other"', 'id = "heron/layer-input"', 39, ('accept[1].id repeats "heron/layer-input"',)),
        ('by = "Ada"\n\n[build', 'by = "Ada"\nuntli = 1\n\n[build', 42, ("unknown key accept[1].untli", ".until?")),
        ('ref = "production"', 'ref = "--upload-pack=x"', 3, ("fork.ref: '--upload-pack=x' is not a ref name",)),
        ('base = "b10531"', 'base = "a..b"', 8, ("upstream.base: 'a..b' is not a ref name",)),
        ('remote = "upstream"', 'remote = "-u"', 5, ("upstream: '-u' is not the name of a remote",)),
        ('remote = "upstream"', 'remote = "u"\npath = "x"', 5, ("upstream: name the place once",)),
        ('["src/models/heron.cpp"]', '["../x.cpp"]', 17, ("arch.heron.files[0]: '../x.cpp' is not a path",)),
        ('["src/models/heron.cpp"]', '["./x.cpp"]', 17, ("arch.heron.files[0]: './x.cpp' is not a path",)),
        ('["src/models/heron.cpp"]', '["/x.cpp"]', 17, ("arch.heron.files[0]: '/x.cpp' is not a path",)),
        ('["src/models/heron.cpp"]', '[""]', 17, ("arch.heron.files[0]: '' is not a path inside the tree",)),
        (":llm_arch_is_hybrid", "", 18, ("arch.heron.registries[0]", "is not a registry")),
        ("jobs = 2", 'jobs = "2"', 48, ('build.cpu.jobs must be a whole number, not "2"',)),
        ("timeout = 30", "timeout = inf", 26, ("arch.heron.gate.timeout: input should be a finite number, not inf",)),
        ("near_tie_gap = 0.05", "near_tie_gap = inf", 25, ("arch.heron.gate.near_tie_gap", "a finite number")),
        ("timeout = 30", "timeout = 1e300", 26, ("arch.heron.gate.timeout", "less than or equal to 1000000")),
        ("[nightly]", "[nightly]\nmin_age_hours = 1e300", 54, ("nightly.min_age_hours", "less than or equal to")),
        ("[nightly]", "[nightly]\nfetch_timeout = 1e300", 54, ("nightly.fetch_timeout", "less than or equal to")),
        ("env = { CC = \"gcc\" }", "env = { CC = 1 }", 47, ("build.cpu.env.CC must be a string, not 1",)),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_line_and_key(old: str, new: str, line: int, words: tuple[str, ...]) -> None:
    assert WHOLE.count(old) == 1 or old.startswith("enum")
    told = problem(WHOLE.replace(old, new, 1))
    assert told.where == f"m.toml:{line}"
    for word in words:
        assert word in told.what


def test_the_first_mistake_of_the_file_is_told() -> None:
    told = problem(WHOLE.replace("jobs = 2", "jobs = 0").replace('ref = "production"', "ref = 1"))
    assert (told.what, told.where) == ("fork.ref must be a string, not 1", "m.toml:3")
    assert told.hint == "see docs/map.md for the keys and their types"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[fork\n", 1, "no valid TOML"),
        ('[fork]\npath = "x\n', 2, "no valid TOML"),
        ("[fork]\npath = 'a'\npath = 'b'\n", 3, "Cannot overwrite a value"),
        ("[fork]\npath = '''x\ny\n", 3, "no valid TOML: Expected"),
    ],
)
def test_broken_toml_is_told_with_its_line(text: str, line: int, words: str) -> None:
    told = problem(text)
    assert told.where == f"m.toml:{line}"
    assert words in told.what


@pytest.mark.parametrize("text", ["", "\n \n", "# nothing but a remark\n"])
def test_an_empty_map_names_the_command_that_writes_one(text: str) -> None:
    told = problem(text)
    assert told.what == "the map is empty"
    assert told.where == "m.toml:1"
    assert "forkguard init" in told.hint


def test_a_map_without_upstream_says_so() -> None:
    assert problem("[fork]\npath = 'x'\n").what == "upstream is missing"


def test_lines_are_found_through_every_form_of_toml() -> None:
    text = "a.b = [\n  1,\n  2,\n]\n\n[x]\ny = '''\n[not.a.table]\n'''\n[[t]]\nk = 1\n[[t]]\n[t.sub]\nk = { z = 1 }\n"
    lines = key_lines(text)
    assert lines["a", "b", 1] == 1
    assert lines["x", "y"] == 7
    assert lines["t", 0, "k"] == 11
    assert lines["t", 1] == 12
    assert lines["t", 1, "sub", "k", "z"] == 14
    assert ("not",) not in lines
    assert line_of(lines, ("t", 1, "sub", "absent")) == 13


@settings(deadline=None)
@given(st.text(alphabet="[]{}=\"'#.,\n ab1-\r\t\\", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_map(text, name="m")
    assert caught.value.where.startswith("m:")


def test_the_projects_own_map_is_valid() -> None:
    path = Path(__file__).parents[2] / "upstream-map.toml"
    own = parse_map(path.read_text(encoding="utf-8"), name=path.name)
    assert (own.fork.path, own.upstream.ref) == ("../llama.cpp", "upstream/master")
    assert list(own.arch) == ["lfm2", "lfm2moe", "dflash"]
    assert own.arch["lfm2"].pulls == own.arch["lfm2moe"].pulls == (27383,)
    assert own.arch["lfm2moe"].graph == "lfm2"
    assert set(own.defaults.archs) <= set(own.arch)


def test_the_manual_names_every_key() -> None:
    manual = (Path(__file__).parents[2] / "docs/map.md").read_text(encoding="utf-8")
    for model in (
        ForkTable,
        UpstreamTable,
        DefaultsTable,
        ArchTable,
        AcceptTable,
        BuildTable,
        GateTable,
        NightlyTable,
    ):
        for key in model.model_fields:
            assert f"`{key}`" in manual or key == "gate", key


def test_the_manuals_example_is_valid() -> None:
    manual = (Path(__file__).parents[2] / "docs/map.md").read_text(encoding="utf-8")
    example = manual.split("```toml\n")[1].split("```")[0]
    assert parse_map(example, name="docs/map.md").arch["lfm2"].pulls == (27383,)
