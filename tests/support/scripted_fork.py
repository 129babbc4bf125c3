"""A fork whose build makes a scripted llama-server, another one without NDEBUG, and two tests in shell."""

from pathlib import Path

from tests.support.mini_llama import arch_source
from tests.support.repos import GitFolder, new_repository
from tests.support.scripted_server import Behaviour, write_server

_PROJECT = """cmake_minimum_required(VERSION 3.14)
project(testable NONE)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG" CACHE STRING "as cmake has it where a compiler is looked for")
option(LLAMA_BUILD_TESTS "tests" OFF)
set(PROGRAM asserting)
if (CMAKE_CXX_FLAGS_RELEASE MATCHES "NDEBUG")
    set(PROGRAM plain)
endif()
set(BIN ${CMAKE_BINARY_DIR}/bin)
add_custom_target(llama-server COMMAND ${CMAKE_COMMAND} -E make_directory ${BIN}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/${PROGRAM}/llama-server ${BIN}/llama-server)
if (LLAMA_BUILD_TESTS)
    enable_testing()
    add_subdirectory(tests)
endif()
"""
_TESTS = """set(BIN ${CMAKE_BINARY_DIR}/bin)
foreach(NAME test-llama-archs test-recurrent-state-rollback)
    if (EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}.cpp)
        add_custom_target(${NAME} COMMAND ${CMAKE_COMMAND} -E make_directory ${BIN}
            COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}.cpp ${BIN}/${NAME})
    endif()
endforeach()
set(MODELS ${CMAKE_CURRENT_BINARY_DIR}/models/)
file(MAKE_DIRECTORY ${MODELS})
add_test(NAME test-llama-archs COMMAND ${BIN}/test-llama-archs)
if (EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/test-recurrent-state-rollback.cpp)
    add_test(NAME test-recurrent-state-rollback COMMAND ${BIN}/test-recurrent-state-rollback -m ${MODELS}/one.gguf)
endif()
add_test(NAME test-generate-models COMMAND ${BIN}/test-llama-archs -o ${MODELS})
set_tests_properties(test-generate-models PROPERTIES FIXTURES_SETUP models)
"""
ARCHS = (
    '#!/bin/sh\nif [ "$1" = -o ]; then touch "$2/one.gguf" "$2/lfm2-dense.gguf"; exit 0; fi\n'
    'echo "|  lfm2|  CPU| Dense|  OK (0.0)|  OK|"\n'
)
ROLLBACK = '#!/bin/sh\ntest -f "$2" && echo "main : restored $2"\n'


def scripted_fork(
    path: Path, *, plain: Behaviour, asserting: Behaviour, archs: str | None = ARCHS, rollback: str | None = ROLLBACK
) -> GitFolder:
    """The repository; a test that is None is not in its tree."""
    fork = new_repository(path)
    files = {"CMakeLists.txt": _PROJECT, "tests/CMakeLists.txt": _TESTS, "src/llama-arch.cpp": arch_source()}
    for name, behaviour in (("plain", plain), ("asserting", asserting)):
        files[f"{name}/llama-server"] = write_server(path.parent / name, behaviour).read_text()
    for name, text in (("test-llama-archs", archs), ("test-recurrent-state-rollback", rollback)):
        if text is not None:
            files[f"tests/{name}.cpp"] = text
    fork.commit("A server and two tests", files)
    for name in files:
        if name.endswith((".cpp", "llama-server")):
            (path / name).chmod(0o755)
    fork.git("commit", "-q", "-a", "-m", "They run")
    return fork
