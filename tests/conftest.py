"""A frozen world for every test: no home, no user's git settings, one identity, one clock, no colour."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.frozen import frozen_environment


@pytest.fixture(autouse=True, scope="session")
def frozen_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Replace the environment by the frozen one, for the tests and for all that they start."""
    before = dict(os.environ)
    nowhere = Path(os.devnull) / "no-home"
    os.environ.clear()
    os.environ.update(frozen_environment(before, home=nowhere, cache=tmp_path_factory.mktemp("cache")))
    yield
    os.environ.clear()
    os.environ.update(before)
