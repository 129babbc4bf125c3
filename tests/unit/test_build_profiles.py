"""Profiles, ids of trees, and what is read from a build's output."""

import pytest

from forkguard.core.build_profiles import Machine, Profile, check_targets, choose_profile, instruction_sets, tree_id
from forkguard.core.built_trees import Checkout, TreeInfo, human_size, parse_age, prunable
from forkguard.core.commit_macros import narrowing_script
from forkguard.core.install_hints import install_hint
from forkguard.core.map_models import BuildTable
from forkguard.core.names import CommitHash
from forkguard.core.ninja_log import BuildError, first_error, parse_status
from forkguard.errors import UsageProblem

X86 = Machine("x86_64", frozenset({"sse4_2", "avx", "avx2", "fma", "f16c", "bmi2"}))
COMMIT = CommitHash("1234567890" * 4)


def test_the_cpu_profile_is_portable_and_uses_what_the_machine_has() -> None:
    words = choose_profile("cpu", {}, X86).cmake
    assert "-DGGML_NATIVE=OFF" in words
    assert "-DCMAKE_BUILD_TYPE=Release" in words
    assert {"-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"} <= set(words)
    older = choose_profile("cpu", {}, Machine("x86_64", frozenset({"avx"}))).cmake
    assert {"-DGGML_AVX=ON", "-DGGML_AVX2=OFF"} <= set(older)
    assert not [word for word in choose_profile("cpu", {}, Machine("aarch64")).cmake if "AVX" in word]


def test_one_architecture_by_either_name() -> None:
    flags = frozenset({"avx"})
    assert instruction_sets(Machine("AMD64", flags)) == instruction_sets(Machine("x86_64", flags)) != ()


def test_the_script_that_narrows_looks_for_the_shortened_commit() -> None:
    assert r"=(\"?1234567[0-9a-f]*\"?)$" in narrowing_script(COMMIT)


def test_the_map_adds_to_a_built_in_profile_and_wins() -> None:
    table = BuildTable(
        cmake=("-DGGML_NATIVE=ON", "-DGGML_CUDA_F16=ON"), targets=("llama-cli",), env={"CC": "clang"}, jobs=3
    )
    profile = choose_profile("cuda", {"cuda": table}, X86)
    assert "-DGGML_CUDA=ON" in profile.cmake
    assert "-DGGML_NATIVE=ON" in profile.cmake
    assert "-DGGML_NATIVE=OFF" not in profile.cmake
    assert (profile.targets, profile.env, profile.jobs) == (("llama-cli",), (("CC", "clang"),), 3)


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("gpu", None, "no build profile 'gpu'"),
        ("mine", BuildTable(generator="Unix Makefiles"), "no generator that forkguard can follow"),
        ("mine", BuildTable(cmake=("--debug-output",)), "no cmake definition"),
        ("mine", BuildTable(targets=("-t",)), "not the name of a target"),
    ],
)
def test_a_bad_profile_is_wrong_use(name: str, table: BuildTable | None, message: str) -> None:
    with pytest.raises(UsageProblem, match=message):
        choose_profile(name, {} if table is None else {name: table}, X86)


@pytest.mark.parametrize("target", ["", "-v", "../x", "a b"])
def test_a_target_is_a_name(target: str) -> None:
    with pytest.raises(UsageProblem):
        check_targets([target])


def test_a_trees_id_depends_on_commit_and_content_alone() -> None:
    profile = Profile("cpu", ("-DA=1",))
    name = tree_id(COMMIT, profile)
    assert name.startswith("123456789012-cpu-")
    assert tree_id(COMMIT, Profile("cpu", ("-DA=1",), targets=("x",), jobs=9)) == name
    assert tree_id(COMMIT, Profile("cpu", ("-DA=2",))) != name
    assert tree_id(COMMIT, Profile("cpu", ("-DA=1",), env=(("CC", "clang"),))) != name
    assert tree_id(CommitHash("2" * 40), profile) != name
    assert "/" not in tree_id(COMMIT, Profile("../x", ()))


def test_status_lines_give_counts_and_an_estimate() -> None:
    status = parse_status("[forkguard 30 120 15.0] Building CXX object a.o")
    assert status is not None
    assert (status.done, status.total, status.seconds_left, status.step) == (30, 120, 45.0, "Building CXX object a.o")
    assert parse_status("[30/120] Building") is None


COMPILER = """[forkguard 1 9 0.1] Building a
FAILED: src/b.o
cc -c b.cpp -Wl,error: x
In file included from a.h:1:
b.cpp: In function 'int f()':
b.cpp:7:12: error: 'x' was not declared
b.cpp:9:1: error: second
"""
HEADER = """FAILED: [code=1] b.o
x/b.h:3:10: fatal error: no.h: No such file
"""
LINKER = """FAILED: bin/s
c++ a.o
/usr/bin/ld: a.o: in function `main':
a.cpp:(.text+0x5): undefined reference to `f()'
"""
MEMORY = """FAILED: b.o
c++: fatal error: Killed signal terminated program cc1plus
FAILED: c.o
c.c:1:1: error: x
"""
CONFIGURE = """-- ok
CMake Error at CMakeLists.txt:4 (find_package):
  Could not find a package configuration file provided by "Nowhere"

  Add the installation prefix
Call Stack
"""
KILLED = "c++: fatal error: Killed signal terminated program cc1plus"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (COMPILER, BuildError("src/b.o", "b.cpp", 7, "'x' was not declared")),
        (HEADER, BuildError("b.o", "x/b.h", 3, "no.h: No such file")),
        (LINKER, BuildError("bin/s", "", None, "a.cpp:(.text+0x5): undefined reference to `f()'")),
        (MEMORY, BuildError("b.o", "", None, KILLED)),
        (
            CONFIGURE,
            BuildError(
                "configure", "CMakeLists.txt", 4,
                'find_package: Could not find a package configuration file provided by "Nowhere"',
            ),
        ),
        ("ninja: error: unknown target 'nope'", BuildError("", "", None, "ninja: error: unknown target 'nope'")),
        ("FAILED: gen.h \npython gen.py", BuildError("gen.h", "", None, "the command of gen.h failed")),
        ("warning: error handling is off\nall good", None),
    ],
)  # fmt: skip
def test_the_first_error_is_found(log: str, expected: BuildError | None) -> None:
    assert first_error(log.splitlines()) == expected


def info(name: str, used: float) -> TreeInfo:
    return TreeInfo(name, f"/t/{name}", "c", "cpu", "/r", 1, used, Checkout.ATTACHED, built=True)


def test_trees_go_when_old_and_beyond_the_kept_ones() -> None:
    trees = [info("a", 100.0), info("b", 300.0), info("c", 200.0)]

    def gone(keep: int | None, older_than: float | None) -> list[str]:
        return [tree.id for tree in prunable(trees, now=310.0, keep=keep, older_than=older_than)]

    assert gone(1, None) == ["c", "a"]
    assert gone(None, 50.0) == ["c", "a"]
    assert gone(2, 50.0) == ["a"]
    assert gone(None, 500.0) == []
    assert gone(0, None) == ["b", "c", "a"]


def test_sizes_change_their_unit_at_1024() -> None:
    sizes = [1023, 1024, 1024**2 - 1024, 1024**2, 1024**3, 2048 * 1024**3]
    assert [human_size(size) for size in sizes] == [
        "1023 B", "1.0 KiB", "1023.0 KiB", "1.0 MiB", "1.0 GiB", "2048.0 GiB",
    ]  # fmt: skip


def test_ages_need_a_unit() -> None:
    assert (parse_age("12h"), parse_age("2w")) == (43200.0, 1209600.0)
    with pytest.raises(UsageProblem, match="is no age"):
        parse_age("14")
    with pytest.raises(UsageProblem):
        parse_age("99999999999999d")


@pytest.mark.parametrize(
    ("tool", "families", "command"),
    [
        ("cmake", ["fedora"], "sudo dnf install cmake"),
        ("ninja", ["arch"], "sudo pacman -S ninja"),
        ("a C++ compiler", ["ubuntu", "debian"], "sudo apt install build-essential"),
        ("a C++ compiler", ["rocky", "rhel"], "sudo dnf install gcc-c++"),
    ],
)
def test_a_missing_tool_names_its_package(tool: str, families: list[str], command: str) -> None:
    assert install_hint(tool, system="Linux", families=families) == command
