"""The acceptance tests' people use the same Chromium as the browser tests'."""

from tests.browser.conftest import browser

__all__ = ["browser"]
