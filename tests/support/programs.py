"""Programs that some tests need: at a desk without one they are skipped, in CI (`CI=true`) they fail."""

import os
import shutil

import pytest

BUILDING = ("cmake", "ninja|ninja-build", "cc|gcc|clang", "c++|g++|clang++")
"""What an isolated tree is built with."""


def need(*programs: str) -> None:
    """Go on only where all of them are on PATH; `a|b` is there where one of these is.

    Tests marked `needs(PROGRAM, ...)` pass here before their fixtures are made.
    """
    lacking = [each for each in programs if not any(shutil.which(name) for name in each.split("|"))]
    if not lacking:
        return
    what = f"not installed: {', '.join(lacking)}"
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)
