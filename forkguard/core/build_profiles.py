"""Build profiles: which cmake words, targets and environment make a tree; and the ids of trees.

A profile is a value: the same profile on the same commit is the same tree.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from forkguard.core.map_models import BuildTable
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork, UsageProblem

DEFAULT_PROFILE = "cpu"
SERVER = "llama-server"

_COMMON = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DGGML_NATIVE=OFF",
)
_INSTRUCTION_SETS = {
    "GGML_SSE42": "sse4_2",
    "GGML_AVX": "avx",
    "GGML_AVX2": "avx2",
    "GGML_FMA": "fma",
    "GGML_F16C": "f16c",
    "GGML_BMI2": "bmi2",
}
"""The cmake option of each instruction set, and the kernel's name for it (`flags` in /proc/cpuinfo)."""

_NO_ASSERTS = "-DNDEBUG"
_OPTIMISED = {"RELEASE": "-O3", "RELWITHDEBINFO": "-O2 -g", "MINSIZEREL": "-Os"}
"""What cmake gives these build types beside NDEBUG, with GCC and Clang."""

BUILT_IN: Mapping[str, tuple[tuple[str, ...], str]] = {
    "cpu": ((), "portable CPU build with the instruction sets that this machine has"),
    "cuda": (("-DGGML_CUDA=ON",), "NVIDIA GPUs; needs the CUDA toolkit (nvcc)"),
    "hip": (("-DGGML_HIP=ON",), "AMD GPUs; needs ROCm (hipcc)"),
    "vulkan": (("-DGGML_VULKAN=ON",), "any GPU with Vulkan; needs the Vulkan headers and glslc"),
    "metal": (("-DGGML_METAL=ON",), "Apple GPUs; macOS only"),
}
"""The profiles that are there without a map: their cmake words, and what they are."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a profile depends on: the machine's architecture (`x86_64`) and the kernel's names of its CPU features."""

    architecture: str
    cpu_flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to build. `jobs` and `targets` choose how and what, and do not make another tree.

    `variant` is the word by which a list of trees tells one with other options from the profile's own.
    """

    name: str
    cmake: tuple[str, ...]
    targets: tuple[str, ...] = (SERVER,)
    generator: str = "Ninja"
    env: tuple[tuple[str, str], ...] = ()
    jobs: int | None = None
    variant: str = ""


def choose_profile(name: str, tables: Mapping[str, BuildTable], machine: Machine) -> Profile:
    """The profile `name`: the common words, those of the built-in of that name, then those of the map's table.

    A later `-D` of the same variable wins. Raises `UsageProblem` for a name that is neither built in nor in
    the map, and for a generator other than Ninja's.

    >>> choose_profile("cuda", {}, Machine("aarch64")).cmake[-1]
    '-DGGML_CUDA=ON'
    """
    if name not in BUILT_IN and name not in tables:
        known = ", ".join(sorted({*BUILT_IN, *tables}))
        raise UsageProblem(
            f"there is no build profile {name!r}; known are {known}",
            hint=f"give --profile one of these, or add [build.{name}] to the map",
        )
    words, _ = BUILT_IN.get(name, ((), ""))
    profile = Profile(name, _merged((*_COMMON, *instruction_sets(machine), *words)))
    table = tables.get(name)
    return _with_table(profile, table) if table is not None else profile


def with_tests(profile: Profile) -> Profile:
    """The same build with upstream's tests configured: none is a target of it yet.

    >>> with_tests(Profile("cpu", ("-DLLAMA_BUILD_TESTS=OFF",))).cmake
    ('-DLLAMA_BUILD_TESTS=ON',)
    """
    return replace(profile, cmake=_merged((*profile.cmake, "-DLLAMA_BUILD_TESTS=ON")), variant="tests")


def with_asserts(profile: Profile) -> Profile:
    """The same build without NDEBUG, so with libc's asserts; the server alone is its target.

    >>> with_asserts(Profile("cpu", ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"))).cmake
    ('-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_CXX_FLAGS_RELEASE=-O2', '-DCMAKE_C_FLAGS_RELEASE=-O3')
    """
    given = {_variable(word): word.partition("=")[2] for word in profile.cmake}
    kind = given.get("CMAKE_BUILD_TYPE", "Release").upper()
    languages = ("C", "CXX", *(each for each in ("CUDA", "HIP") if given.get(f"GGML_{each}") == "ON"))
    words = []
    for language in languages:
        name = f"CMAKE_{language}_FLAGS_{kind}"
        flags = given.get(name, _OPTIMISED.get(kind, "")).split()
        words.append(f"-D{name}={' '.join(flag for flag in flags if flag != _NO_ASSERTS)}")
    return replace(profile, cmake=_merged((*profile.cmake, *words)), targets=(SERVER,), variant="asserts")


def has_libc_asserts(options: Mapping[str, str]) -> bool | None:
    """Whether cmake's options leave libc's asserts in C++ code; None where they do not tell.

    >>> has_libc_asserts({"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-O3 -DNDEBUG"})
    False
    """
    kind = options.get("CMAKE_BUILD_TYPE", "").upper()
    if not kind:
        return None
    flags = f"{options.get('CMAKE_CXX_FLAGS', '')} {options.get(f'CMAKE_CXX_FLAGS_{kind}', '')}".split()
    return _NO_ASSERTS not in flags


def check_used(profile: Profile, unused: Sequence[str]) -> tuple[str, ...]:
    """The profile's own variables, besides the common ones, that the project does not know.

    Raises `CouldNotWork` where one of them is what the built-in profile stands for: the build would not be one.
    """
    words, _ = BUILT_IN.get(profile.name, ((), ""))
    for word in words:
        if _variable(word) in unused:
            raise CouldNotWork(
                f"this commit has no cmake option {_variable(word)}: it would be built without {profile.name}",
                where=f"build profile {profile.name}",
                hint=f"give the option's name of that time in [build.{profile.name}-old] cmake of the map",
            )
    common = {_variable(word) for word in (*_COMMON, *words)} | set(_INSTRUCTION_SETS)
    own = (_variable(word) for word in profile.cmake)
    return tuple(name for name in own if name in unused and name not in common)


def _with_table(profile: Profile, table: BuildTable) -> Profile:
    where = f"[build.{profile.name}]"
    if table.generator not in (None, "Ninja"):
        raise UsageProblem(
            f"{table.generator!r} is no generator that forkguard can follow",
            where=where,
            hint='write generator = "Ninja", or leave the line out',
        )
    strange = [word for word in table.cmake if not word.startswith("-D") or "=" not in word]
    if strange:
        raise UsageProblem(
            f"{strange[0]!r} is no cmake definition", where=where, hint='write cmake = ["-DNAME=VALUE", ...]'
        )
    return replace(
        profile,
        cmake=_merged((*profile.cmake, *table.cmake)),
        targets=check_targets(table.targets) or profile.targets,
        env=tuple(sorted(table.env.items())),
        jobs=table.jobs,
    )


def check_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """The targets, each once. Raises `UsageProblem` for one that ninja could read as an option or a path.

    >>> check_targets(["llama-server", "llama-server"])
    ('llama-server',)
    """
    for target in targets:
        if not target or target.startswith("-") or "/" in target or any(c.isspace() for c in target):
            raise UsageProblem(f"{target!r} is not the name of a target", hint="give a name such as llama-server")
    return tuple(dict.fromkeys(targets))


def instruction_sets(machine: Machine) -> tuple[str, ...]:
    """The cmake words for the machine's instruction sets, each said, for a portable build turns all on.

    Nothing on machines other than x86-64.

    >>> instruction_sets(Machine("x86_64", frozenset({"sse4_2", "avx"})))[:3]
    ('-DGGML_SSE42=ON', '-DGGML_AVX=ON', '-DGGML_AVX2=OFF')
    >>> instruction_sets(Machine("aarch64"))
    ()
    """
    if machine.architecture.lower() not in ("x86_64", "amd64"):
        return ()
    return tuple(
        f"-D{option}={'ON' if flag in machine.cpu_flags else 'OFF'}" for option, flag in _INSTRUCTION_SETS.items()
    )


def cpu_flags(cpuinfo: str) -> frozenset[str]:
    """The features that every processor of a `/proc/cpuinfo` has.

    >>> sorted(cpu_flags("flags : avx fma\\nflags : avx\\n"))
    ['avx']
    """
    rows = [line.partition(":")[2].split() for line in cpuinfo.splitlines() if line.split(":")[0].strip() == "flags"]
    return frozenset.intersection(*map(frozenset, rows)) if rows else frozenset()


def tree_id(commit: CommitHash, profile: Profile) -> str:
    """The tree's stable name: commit, profile, and a digest over both.

    A commit's id covers its whole history, so it identifies the repository as well, wherever that lies:
    a clone that has moved, or a second one, finds the same tree.
    """
    content = json.dumps([commit, profile.name, profile.cmake, profile.generator, profile.env])
    digest = hashlib.sha256(content.encode()).hexdigest()
    name = "".join(c if c.isalnum() else "-" for c in profile.name)[:24]
    return f"{commit[:12]}-{name}-{digest[:10]}"


def with_flag(words: Sequence[str], variable: str, flag: str) -> tuple[str, ...]:
    """`words` with `flag` put in front of what they give to the cmake variable `variable`.

    >>> with_flag(["-DCMAKE_C_FLAGS=-O1"], "CMAKE_C_FLAGS", "-g")
    ('-DCMAKE_C_FLAGS=-g -O1',)
    >>> with_flag([], "CMAKE_C_FLAGS", "-g")
    ('-DCMAKE_C_FLAGS=-g',)
    """
    given = [word for word in words if _variable(word) == variable]
    value = f"{flag} {given[-1].partition('=')[2]}".strip() if given else flag
    return (*(word for word in words if _variable(word) != variable), f"-D{variable}={value}")


def _variable(word: str) -> str:
    return word.removeprefix("-D").partition("=")[0].partition(":")[0]


def _merged(words: Sequence[str]) -> tuple[str, ...]:
    """Each variable once, at the place of its first mention and with its last value."""
    last: dict[str, str] = {}
    for word in words:
        last[_variable(word)] = word
    return tuple(last.values())
