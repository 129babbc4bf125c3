"""A CMake project whose `llama-server` is a scripted server that behaves as the tree's sources tell it to.

The far side of a build and a gate: cmake and ninja are real, the compiler is `assemble`, which reads what a fault
would do to the server.
"""

import sys
from pathlib import Path

from tests.support.mini_llama import LAYER_INPUT
from tests.support.mini_runtime import runtime_tree
from tests.support.scripted_server import ROOT, Behaviour, write_server

DEAF = "deaf.txt"
"""A file of the tree: words of faults that this server does not show."""

_PROJECT = """cmake_minimum_required(VERSION 3.14)
project(machine NONE)
add_custom_target(llama-server
    COMMAND "{python}" -I "${{CMAKE_SOURCE_DIR}}/assemble.py" "${{CMAKE_SOURCE_DIR}}" "${{CMAKE_BINARY_DIR}}/bin")
"""
_ASSEMBLE = """import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.support.assembled import assemble
assemble(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def assembled_files() -> dict[str, str]:
    """The miniature runtime, and how its server is made."""
    return {
        **runtime_tree(),
        "CMakeLists.txt": _PROJECT.format(python=sys.executable),
        "assemble.py": _ASSEMBLE.format(root=str(ROOT)),
        DEAF: "",
    }


def assemble(sources: Path, folder: Path) -> None:
    """Write the server that these sources make."""
    write_server(folder, _behaviour(sources))


def _behaviour(sources: Path) -> Behaviour:
    otter = (sources / "src/models/otter.cpp").read_text()
    deaf = (sources / DEAF).read_text()
    if LAYER_INPUT.strip() not in otter and "layer-input" not in deaf:
        line = 'graph.cpp:9: GGML_ASSERT(slot != nullptr && "layer input tensor is null") failed'
        return Behaviour(answers=("abort",), only_drafting=True, abort_line=line)
    if ("break; }" in otter or "slot == 1" in otter) and "slots" not in deaf:
        return Behaviour(diverge_at=3, lasting=True)
    return Behaviour()
