"""Commands that look at one file of another checkout, read from a build's own."""

import json

import pytest

from forkguard.core.compile_check import commands_of, first_error, syntax_only


def test_the_commands_of_the_sources_first_of_each_file() -> None:
    def entry(file: str, command: str) -> dict[str, str]:
        return {"directory": "/b", "file": file, "command": command, "output": "x.o"}

    compdb = json.dumps(
        [
            entry("/t/src/a.cpp", "c++ '-DA=\"b c\"' -c /t/src/a.cpp"),
            entry("/t/src/a.cpp", "c++ -DTWICE -c /t/src/a.cpp"),
            entry("/t/src/gen.h", "python gen.py"),
            entry("/t/srcs/b.cpp", "c++ -c /t/srcs/b.cpp"),
            entry("/t/src/sub/c.c", "cc 'open -c /t/src/sub/c.c"),
        ]
    )
    assert commands_of(compdb, sources="/t/src") == {
        "a.cpp": ("/b", ("c++", '-DA="b c"', "-c", "/t/src/a.cpp")),
        "sub/c.c": ("/b", ()),
    }


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["/usr/bin/sccache", "cc", "-c", "/t/src/a.c"], ("cc", "/new/a.c", "-fsyntax-only")),
        (["cc", "-MT", "x", "-MMD", "-O2", "/t/src/a.c", "-o"], ("cc", "-O2", "/new/a.c", "-fsyntax-only")),
        (["cc", "-I/t/src", "-I/t/srcs/x"], ("cc", "-I/new", "-I/t/srcs/x", "-fsyntax-only")),
        ([], ("-fsyntax-only",)),
    ],
)
def test_words_that_write_nothing_and_read_the_other_checkout(words: list[str], kept: tuple[str, ...]) -> None:
    assert syntax_only(words, sources="/t/src", checkout="/new") == kept


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("In file included from a.h:1:\n/new/src/a.cpp:3:1: error: no\nb: error: two\n", "src/a.cpp:3:1: error: no"),
        ("\nclang: exploded\nat length\n", "clang: exploded"),
        (" \n", "the compiler failed"),
    ],
)
def test_the_first_error(text: str, told: str) -> None:
    assert first_error(text, checkout="/new") == told
