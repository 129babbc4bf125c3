"""`forkguard stack list` and `show`: what the files beside the map say."""

from pathlib import Path

import pytest

from tests.support.porting import Desk, make_desk

MANIFEST = 'title = "{title}"\npull = {pull}\nstate = "{state}"\nwhy = "because"\ndrop-when = "upstream has it"\n'
FOLLOW = '\n[[follow-ups]]\npull = 9\nwhy = "later"\n'
PATCH = (
    "From {0} Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nDate: Thu, 1 Jan 2026 12:00:00 +0000\n"
    "Subject: [PATCH] one change\nOrigin: upstream, commit:ab\nForwarded: not-needed\n\nbody\n---\n"
    " a.txt | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n\n"
    "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n"
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def put(desk: Desk, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = desk.path / "patchsets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def fill(desk: Desk) -> None:
    """Two carried patchsets in the stack, in an order that is not the names', and a declared one outside."""
    put(
        desk,
        {
            "series": "# the stack\n20\n10\n",
            "20/patchset.toml": MANIFEST.format(title="second number, first place", pull=20, state="carried")
            + FOLLOW,
            "20/series": "0001-a.patch\n",
            "20/0001-a.patch": PATCH.format("a" * 40),
            "10/patchset.toml": MANIFEST.format(title="first number", pull=10, state="disabled"),
            "10/series": "0001-gone.patch\n",
            "30/patchset.toml": MANIFEST.format(title="not ported yet", pull=30, state="declared"),
        },
    )


def test_an_empty_stack_says_what_to_do(desk: Desk) -> None:
    outcome = desk.run("stack", "list")

    assert outcome.status == 0
    assert outcome.out.startswith("The patch stack is empty.\n")
    assert "forkguard port 27383" in outcome.out
    assert desk.json("stack", "list", status=0) == {"schema": "forkguard/stack@1", "stack": []}


def test_the_list_is_in_the_order_of_the_series(desk: Desk) -> None:
    fill(desk)

    outcome = desk.run("stack", "list")

    assert outcome.status == 0
    assert outcome.out == (
        " 1. 20  carried   second number, first place\n"
        "        #20, 1 patch, +2 -1; follow-ups: #9\n"
        " 2. 10  disabled  first number\n"
        "        #10, 1 patch, +0 -0\n"
        "        0001-gone.patch: the file is missing\n"
        "  - 30  declared  not ported yet\n"
        "        #30, no patches yet\n"
        "\n"
        "Next\n"
        "  forkguard port 30\n"
    )


def test_the_list_as_json(desk: Desk) -> None:
    fill(desk)

    stack = desk.json("stack", "list", status=0)["stack"]

    assert [(each["name"], each["position"], each["state"]) for each in stack] == [
        ("20", 1, "carried"),
        ("10", 2, "disabled"),
        ("30", None, "declared"),
    ]
    assert stack[0]["follow_ups"] == [{"pr": 9, "commit": None, "why": "later"}]
    assert stack[0]["patches"] == [
        {
            "name": "0001-a.patch",
            "subject": "one change",
            "files": ["a.txt"],
            "added": 2,
            "removed": 1,
            "fields": {"Origin": "upstream, commit:ab", "Forwarded": "not-needed"},
            "problem": None,
        }
    ]
    assert stack[1]["patches"][0]["problem"] == "the file is missing"


def test_show_says_why_and_until_when(desk: Desk) -> None:
    fill(desk)

    out = desk.run("stack", "show", "20").out

    assert out.startswith("20  second number, first place\n  carried, number 1 of the stack\n")
    assert "  why        because\n" in out
    assert "  drop when  upstream has it\n" in out
    assert "  0001-a.patch  +2 -1\n    a.txt\n    Origin: upstream, commit:ab\n" in out
    assert "  #9  later\n" in out


def test_show_of_a_declared_one_says_how_to_get_it(desk: Desk) -> None:
    fill(desk)

    assert desk.run("stack", "show", "30").out.endswith("Next\n  forkguard port 30\n")


@pytest.mark.parametrize("name", ["40", "../desk", "--x", "a/b"])
def test_show_of_what_is_not_there(desk: Desk, name: str) -> None:
    fill(desk)

    outcome = desk.run("stack", "show", "--", name)

    assert outcome.status == 2
    assert "Traceback" not in outcome.err


def test_a_stack_that_names_what_is_not_there(desk: Desk) -> None:
    put(desk, {"series": "50\n"})

    outcome = desk.run("stack", "list")

    assert outcome.status == 2
    assert outcome.told()[0] == "there is no patchset 50"


def test_terminal_escapes_of_strangers_are_not_passed_on(desk: Desk) -> None:
    put(desk, {"60/patchset.toml": MANIFEST.format(title="\\u001b[31mred", pull=60, state="declared")})

    assert "\x1b" not in desk.run("stack", "list").out
    assert "\x1b" not in desk.run("stack", "show", "60").out


def test_text_that_is_no_patch_is_said(desk: Desk) -> None:
    fill(desk)
    put(desk, {"20/0001-a.patch": "Subject: x\n\n--- a/a\n+++ b/a\n@@ -1,9 +1,1 @@\n one\n"})

    (patch,) = desk.json("stack", "show", "20", status=0)["patches"]
    assert patch["problem"].startswith("this is no patch: ")
