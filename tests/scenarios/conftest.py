"""Fixtures that several scenarios share."""

from pathlib import Path

import pytest

from tests.support.nights import Nights, copy_nights, new_nights
from tests.support.verifying import clock, shelf

__all__ = ["clock", "shelf"]


@pytest.fixture(scope="module")
def first_nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Made once for a file of tests, to be copied."""
    return new_nights(tmp_path_factory.mktemp("nights"))


@pytest.fixture
def nights(first_nights: Nights, tmp_path: Path) -> Nights:
    """A fork with one patchset, on which nights are held without a build."""
    return copy_nights(first_nights, tmp_path)
