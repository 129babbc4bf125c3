"""Fixtures that several scenarios share."""

from tests.support.verifying import clock, shelf

__all__ = ["clock", "shelf"]
