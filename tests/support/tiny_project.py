"""A CMake project in the shape of llama.cpp's build, in words of our own: a library, a server, a commit macro."""

import subprocess
from pathlib import Path

from forkguard.adapters.cmake import CMake
from forkguard.adapters.trees import TreeStore
from forkguard.core.map_models import BuildTable
from forkguard.workflows.build import Workshop
from tests.support.repos import GitFolder, new_repository

PARTS = tuple(f"part{number}" for number in range(6))
_PROJECT = """cmake_minimum_required(VERSION 3.14)
project(tiny C CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
find_package(Git)
execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                OUTPUT_VARIABLE HEAD OUTPUT_STRIP_TRAILING_WHITESPACE)
add_subdirectory(src)
add_executable(llama-server server.cpp)
target_link_libraries(llama-server PRIVATE llama)
add_executable(extra extra.cpp)
"""


def tiny_files() -> dict[str, str]:
    """The project's files by path."""
    parts = {
        f"src/{name}.cpp": f'#include "llama.h"\nint {name}() {{ return {number}; }}\n'
        for number, name in enumerate(PARTS)
    }
    calls = "".join(f" + {name}()" for name in PARTS)
    return {
        "CMakeLists.txt": _PROJECT,
        "src/CMakeLists.txt": "file(GLOB SOURCES *.cpp)\nadd_library(llama SHARED ${SOURCES})\n"
        "target_include_directories(llama PUBLIC .)\n"
        'target_compile_definitions(llama PRIVATE LLAMA_COMMIT="${HEAD}")\n',
        "src/llama.h": "#pragma once\n" + "".join(f"int {name}();\n" for name in PARTS) + "const char * commit();\n",
        "src/llama-arch.cpp": '#include "llama.h"\nconst char * commit() { return LLAMA_COMMIT; }\n',
        **parts,
        "server.cpp": '#include "llama.h"\n#include <cstdio>\n'
        f'int main() {{ std::printf("%s %d\\n", commit(), 0{calls}); return 0; }}\n',
        "extra.cpp": "int main() { return 0; }\n",
    }


def tiny_fork(path: Path) -> tuple[GitFolder, str]:
    """A repository of one commit that holds the project; the commit's id too."""
    fork = new_repository(path)
    return fork, fork.commit("A tiny server", tiny_files())


class Listener:
    """A `Talk` that keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.notes: list[str] = []
        self.counts: list[tuple[int, int]] = []
        self.said: list[str] = []

    def step(self, message: str) -> None:
        """Keep a step."""
        self.steps.append(message)

    def note(self, message: str) -> None:
        """Keep a note."""
        self.notes.append(message)

    def progress(self, done: int, total: int, message: str) -> None:
        """Keep the counts, and what is said beside them."""
        self.counts.append((done, total))
        self.said.append(message)


def workshop(cache: Path, *, profiles: dict[str, BuildTable] | None = None) -> tuple[Workshop, Listener]:
    """The real trees, cmake, ninja and compilers, below a folder of the test's own."""
    talk = Listener()
    return Workshop(TreeStore(cache / "trees"), CMake(cache), profiles or {}, talk), talk


def says(server: Path) -> str:
    """What the built server prints: the commit that is compiled in, and a sum over the parts."""
    return subprocess.run([str(server)], capture_output=True, text=True, check=True, timeout=20).stdout.strip()
