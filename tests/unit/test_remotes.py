"""Which remote is upstream, and which branch of it."""

import pytest

from forkguard.core.remotes import choose_branch, choose_remote, shown

OFFICIAL = "https://github.com/ggml-org/llama.cpp"
MINE = "git@host:ada/llama.cpp.git"


@pytest.mark.parametrize(
    ("remotes", "own", "expected"),
    [
        ({"upstream": MINE, "ggml": OFFICIAL}, (), "upstream"),
        ({"origin": MINE, "ggml": OFFICIAL}, ("origin",), "ggml"),
        ({"origin": OFFICIAL + ".git"}, (), "origin"),
        ({"origin": "git@github.com:ggerganov/llama.cpp.git", "x": MINE, "y": MINE}, (), "origin"),
        ({"origin": "https://host/not-ggml-org/llama.cpp", "x": MINE, "y": MINE}, (), None),
        ({"origin": OFFICIAL + "-fork", "x": MINE, "y": MINE}, (), None),
        ({"origin": MINE, "theirs": "/srv/llama"}, ("origin",), "theirs"),
        ({"origin": MINE, "theirs": "/srv/llama"}, (), "theirs"),
        ({"theirs": "/srv/llama"}, (), "theirs"),
        ({"origin": MINE}, ("origin",), None),
        ({}, (), None),
    ],
)
def test_the_upstream_remote(remotes: dict[str, str], own: tuple[str, ...], expected: str | None) -> None:
    choice = choose_remote(remotes, own=own)
    assert (choice.name if choice else None) == expected
    assert choice is None or remotes[choice.name] in choice.why


@pytest.mark.parametrize(
    ("branches", "head", "expected"),
    [
        (["main", "master"], None, "master"),
        (["main", "topic"], None, "main"),
        (["main", "trunk"], "trunk", "trunk"),
        (["main"], "gone", "main"),
        (["trunk"], None, "trunk"),
        (["one", "two"], None, None),
        ([], None, None),
    ],
)
def test_the_branch_of_upstream(branches: list[str], head: str | None, expected: str | None) -> None:
    assert choose_branch(branches, head=head) == expected


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://token@host/x", "https://host/x"),
        ("https://me:a%40b@host:8/x@y", "https://host:8/x@y"),
        ("https://me:a@b@host/x@y", "https://host/x@y"),
        ("git@host:me/x", "git@host:me/x"),
        ("file:///srv/@x", "file:///srv/@x"),
    ],
)
def test_no_password_is_shown(url: str, text: str) -> None:
    assert shown(url) == text
