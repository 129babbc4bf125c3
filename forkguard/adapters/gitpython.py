"""GitPython, imported so that a machine without git meets our own error when git is asked, and no failing import."""

import os

_NAME = "GIT_PYTHON_REFRESH"
_before = os.environ.get(_NAME)
os.environ[_NAME] = "quiet"

import git  # noqa: E402

if _before is None:
    del os.environ[_NAME]
else:
    os.environ[_NAME] = _before

__all__ = ["git"]
