"""A real Chromium against the product as gunicorn serves it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page

from backoffice.tenants.models import Tenant, User

ROOT = Path(__file__).resolve().parent.parent.parent
SCREENSHOTS = ROOT / "screenshots"


@pytest.fixture(scope="session")
def server(migrated: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the product with gunicorn over the run's servers; return its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("gunicorn") / "log"
    command = [sys.executable, "-m", "gunicorn", "-b", f"127.0.0.1:{port}", "--threads", "4", "backoffice.wsgi"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"
    try:
        for _attempt in range(300):
            try:
                urllib.request.urlopen(f"{address}/sign-in/", timeout=2)  # noqa: S310 (our own address)
                break
            except OSError:
                if process.poll() is not None:
                    pytest.fail(log.read_text())
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def open_page(browser: Browser, server: str) -> Iterator[Callable[..., Page]]:
    """Open a page in a context of its own. What the console or the policy complains of fails the test."""
    contexts = []
    complaints: list[str] = []

    def open_one(*, width: int = 1280, height: int = 860, dark: bool = False, **options: Any) -> Page:
        context = browser.new_context(
            base_url=server,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def _is_complaint(message: Any) -> bool:
    # A refusal is answered with 409 or 403 on purpose, and Chromium logs every such answer.
    return message.type in {"error", "warning"} and "Failed to load resource" not in message.text


@pytest.fixture
def page_for(open_page: Callable[..., Page], server: str) -> Callable[..., Page]:
    """Open a page where the person is signed in. Addresses carry the tenant: page.goto("/t/acme/")."""

    def open_signed_in(person: User, tenant: Tenant | None = None, **options: Any) -> Page:
        page = open_page(**options)
        client = Client()
        client.force_login(person)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": server}])
        return page

    return open_signed_in


@pytest.fixture
def shoot() -> Callable[[Page, str], None]:
    """Write a screenshot into the git-ignored folder, to be looked at."""

    def take(page: Page, name: str) -> None:
        picture = SCREENSHOTS / f"{name}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture, full_page=True)

    return take


@pytest.fixture
def accessible() -> Callable[[Page], None]:
    """Assert that axe finds nothing serious or critical on the page."""

    def check(page: Page) -> None:
        violations = Axe().run(page).response["violations"]
        grave = [
            f"{found['id']}: {node['target']} {node.get('failureSummary', '')}"
            for found in violations
            if found["impact"] in {"serious", "critical"}
            for node in found["nodes"]
        ]
        assert grave == []

    return check


@pytest.fixture
def fits() -> Callable[[Page], None]:
    """Assert that the page does not scroll sideways."""

    def check(page: Page) -> None:
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"the page is {wide} pixels too wide"

    return check
