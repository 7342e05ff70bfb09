"""The one Chromium of a test run, for the browser tests and the acceptance tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

# Playwright's sync API keeps an event loop in this thread; the ORM is still called outside of it.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def _chromium() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None and os.environ.get("BACKOFFICE_REQUIRE_BROWSER") == "1":
        pytest.fail("no Chromium on this machine, and BACKOFFICE_REQUIRE_BROWSER asks for one")
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one headless Chromium for the run."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()
