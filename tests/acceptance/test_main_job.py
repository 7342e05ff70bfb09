"""The main job as its people do it: staff decide, finance releases with a code, an analyst downloads.

The product runs as a person starts it (`manage.py up`, an empty folder, free ports); people use a real
browser; a real council file is loaded where one is found, the demo's own items serve otherwise.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from playwright.sync_api import APIResponse, Browser, Page, expect

from backoffice.stack import state
from tests.acceptance.test_up import Up, environment, free_port, known

COUNCIL = state.PROJECT.parent / "shared" / "data" / "payouts" / "oxford-spend" / "jan-mar-2018.csv"
CODE_STEP = 30


class Product:
    """The running product, and what a person or an auditor can ask of it."""

    def __init__(self, up: Up, browser: Browser) -> None:
        self.up, self.browser = up, browser
        self.address = f"http://127.0.0.1:{up.port}"
        self.password = re.search(r"password (\S+)", up.out.read_text())[1]

    def manage(self, *words: str) -> str:
        """Run one of the product's commands as a second shell would."""
        command = [sys.executable, str(state.PROJECT / "manage.py"), *words]
        told = environment() | {"BACKOFFICE_DATA": str(self.up.data)}
        done = subprocess.run(command, env=told, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def sign_in(self, address: str) -> Page:
        """Sign in through the page, in a browser context of its own."""
        page = self.browser.new_context(base_url=self.address, accept_downloads=True).new_page()
        page.set_default_timeout(15_000)
        page.goto("/sign-in/")
        page.fill("input[name=username]", address)
        page.fill("input[name=password]", self.password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/t/*/**")
        return page

    def code(self, address: str) -> str:
        """Read the code as a person reads it from the phone."""
        return self.manage("demo", "code", address).splitlines()[-1].strip()

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database itself."""
        with psycopg.connect(known(self.up.data)["DATABASE_URL"]) as connection:
            return connection.execute(query, values).fetchall()


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Product]:
    running = Up(tmp_path_factory.mktemp("main-job") / "data", free_port())
    try:
        running.wait_until_ready()
        yield Product(running, browser)
    finally:
        if running.process.poll() is None:
            running.stop()


def _post(page: Page, path: str, **form: str) -> APIResponse:
    """Send a form by hand, as somebody would who types addresses."""
    token = next(c["value"] for c in page.context.cookies() if c["name"] == "csrftoken")
    return page.request.post(
        path,
        form={"csrfmiddlewaretoken": token, **form},
        headers={"Referer": page.url},
        max_redirects=0,
    )


def _wait(for_it: Callable[[], object], *, within: float) -> None:
    until = time.monotonic() + within
    while not for_it():
        assert time.monotonic() < until, "this took too long"
        time.sleep(0.2)


def _release(page: Page, references: list[str], *, code: str) -> None:
    """Select these payouts among the approved, preview them, and confirm with the code."""
    page.goto("/t/acme/queues/payouts/?state=approved")
    for reference in references:
        page.get_by_label(f"Select {reference}", exact=True).check()
    page.get_by_role("button", name="Release payouts").first.click()
    page.wait_for_url(re.compile(r"/plans/\d+/$"))
    page.get_by_label("Code from your phone").fill(code)
    page.get_by_role("button", name=re.compile(r"^Release \d+ payout")).click()


@pytest.mark.timeout(420)
def test_the_main_job_from_a_real_file_to_money_and_a_download(product: Product, tmp_path: Path) -> None:
    visited: list[str] = []
    if COUNCIL.exists():
        summary = product.manage("ingest", "payouts", str(COUNCIL), "--tenant", "acme")
        read, accepted, dropped = (
            int(re.search(rf"{w}\D*(\d[\d,]*)", summary)[1].replace(",", ""))
            for w in ("[Rr]ead", "[Aa]ccepted", "[Dd]ropped")
        )
        assert read == accepted + dropped == 1220

    # Staff: the top payout, why it is first, approve, the next one comes.
    staff = product.sign_in("staff@acme.example")
    staff.goto("/t/acme/queues/payouts/")
    top = staff.locator("tr[data-row]").first
    reference, why = top.locator(".row-title").inner_text(), top.locator(".cell-main .why").inner_text()
    assert re.search(r"\d+: .+\(\+\d+\)", why)
    staff.get_by_role("button", name="Claim next").click()
    staff.wait_for_url(re.compile(r"/queues/payouts/\d+/"))
    expect(staff.get_by_role("heading", level=1)).to_have_text(reference)
    expect(staff.locator("main")).to_contain_text(why)
    first = staff.url.removeprefix(product.address).split("?")[0]
    visited += [first, "/t/acme/queues/payouts/"]

    # A second staff member looks, and cannot act on it.
    second = product.sign_in("staff2@acme.example")
    second.goto(first)
    expect(second.locator("main")).to_contain_text("Mateo Álvarez")
    expect(second.get_by_role("button", name="Approve", exact=False)).to_be_disabled()
    refused = _post(second, f"{first}act/approve/", key="by-hand-1", token="1", version="1", next="")
    assert refused.status == 409
    assert _post(second, f"{first}claim/", key="by-hand-2").status == 409
    item_id = int(first.rstrip("/").rsplit("/", 1)[1])
    assert product.rows("SELECT state FROM queues_payout WHERE id = %s", item_id) == [("pending",)]

    staff.get_by_role("button", name="Approve and next").click()
    staff.wait_for_function("was => document.querySelector('h1').textContent.trim() !== was", arg=reference)
    assert product.rows("SELECT state FROM queues_payout WHERE id = %s", item_id) == [("approved",)]
    assert staff.url.removeprefix(product.address).split("?")[0] != first
    expect(staff.get_by_role("button", name="Approve and next")).to_be_enabled()

    # Finance: a preview, a wrong code, the right one, then exactly those lines.
    finance = product.sign_in("finance@acme.example")
    finance.goto("/t/acme/queues/payouts/?state=approved&currency=JPY")
    wanted = [row.inner_text() for row in finance.locator(".row-title").all()[:3]]
    assert len(wanted) == 3
    _release(finance, wanted[:2], code="000000")
    expect(finance.get_by_role("alert")).to_contain_text("No money was moved")
    assert product.rows("SELECT count(*) FROM money_transfer") == [(0,)]
    plan_path = re.search(r"/t/acme/plans/\d+/", finance.url)[0]
    plan = int(plan_path.rstrip("/").rsplit("/", 1)[1])
    previewed = product.rows(
        "SELECT reference, amount, currency FROM money_planline WHERE plan_id = %s ORDER BY position", plan
    )
    assert sorted(row[0] for row in previewed) == sorted(wanted[:2])
    finance.goto(plan_path)
    for line_reference, amount, _currency in previewed:
        expect(finance.locator("main")).to_contain_text(line_reference)
        expect(finance.locator("main")).to_contain_text(f"{amount:,.0f}")

    used = ""

    def confirmed() -> bool:
        nonlocal used
        used = product.code("finance@acme.example")
        finance.goto(plan_path)
        finance.get_by_label("Code from your phone").fill(used)
        finance.get_by_role("button", name=re.compile(r"^Release \d+ payout")).click()
        finance.wait_for_load_state()
        return "/run/" in finance.url

    _wait(confirmed, within=60)  # a wrong code makes the next try wait a moment
    expect(finance.locator("#run")).to_have_attribute("data-state", "done", timeout=30_000)
    expect(finance.locator("[data-count=done]")).to_have_text("2")
    moved = product.rows(
        "SELECT l.reference, sum(e.amount) FILTER (WHERE e.amount > 0), a.currency"
        "  FROM money_entry e JOIN money_transfer t ON t.id = e.transfer_id JOIN money_account a ON a.id = e.account_id"
        "  JOIN money_planline l ON l.id = t.line_id GROUP BY l.position, l.reference, a.currency ORDER BY l.position"
    )
    assert moved == previewed
    assert product.rows("SELECT sum(amount) FROM money_entry") == [(Decimal(0),)]
    visited += [plan_path, f"{plan_path}run/"]

    # The same code again, for another plan: refused, nothing moves.
    _release(finance, wanted[2:], code=used)
    expect(finance.get_by_role("alert")).to_contain_text("No money was moved")
    assert product.rows("SELECT count(*) FROM money_transfer") == [(2,)]
    told = "SELECT data->'result'->>'code' FROM audit_auditevent WHERE act = 'stepup.verify' ORDER BY id"
    outcomes = [row[0] for row in product.rows(told)]
    assert outcomes[0] == "wrong-code"
    assert outcomes[-1] == "code-used"

    # An analyst: request, watch, download; the file equals the table.
    analyst = product.sign_in("analyst@acme.example")
    analyst.goto("/t/acme/exports/new/payouts/")
    analyst.get_by_role("button", name="Request the file").click()
    analyst.wait_for_url(re.compile(r"/exports/\d+/$"))
    download = analyst.get_by_role("button", name="Download")
    expect(download).to_be_visible(timeout=60_000)
    export_path = analyst.url.removeprefix(product.address)
    with analyst.expect_download() as started:
        download.click()
    file = tmp_path / "payouts.csv"
    started.value.save_as(file)
    found = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"), newline="")))
    table = product.rows(
        "SELECT p.reference, p.amount, p.currency, p.state FROM queues_payout p"
        "  JOIN tenants_tenant t ON t.id = p.tenant_id WHERE t.slug = 'acme'"
    )
    assert len(found) == len(table)
    assert sorted((r["reference"], Decimal(r["amount"]), r["currency"], r["state"]) for r in found) == sorted(table)
    visited += [
        export_path,
        "/t/acme/exports/",
        "/t/acme/exports/new/payouts/",
        "/t/acme/jobs/",
        "/t/acme/reports/",
        "/t/acme/",
    ]

    # The link: signed, short-lived, and useless without its signature.
    signed = _post(analyst, f"{export_path}download/", key="by-hand-3")
    link = signed.headers["location"]
    assert signed.status == 303
    assert "/tenants/acme/exports/" in link
    assert analyst.request.get(link).status == 200
    assert analyst.request.get(link.split("?")[0]).status == 403
    assert analyst.request.get(re.sub(r"(Signature=)..", r"\g<1>00", link)).status == 403

    # A person of another tenant finds none of it.
    stranger = product.sign_in("supervisor@globex.example")
    for path in visited:
        assert stranger.request.get(path).status == 404, path
    for path in (f"{first}claim/", f"{plan_path}confirm/", f"{export_path}download/"):
        assert _post(stranger, path, key="by-hand-4").status == 404, path
    moved_over = [path.replace("/t/acme/", "/t/globex/") for path in (first, plan_path, export_path)]
    for path in moved_over:
        assert stranger.request.get(path).status in (403, 404), path

    _wait(lambda: analyst.request.get(link).status == 403, within=75)
