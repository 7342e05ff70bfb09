"""Account numbers are whole for those who decide about the money; others see the last four, everywhere."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backoffice import storage
from backoffice.tenants.models import Tenant, User
from exports.models import ExportRequest
from queues.masking import mask
from queues.models import Payout
from tests.making_files import read_csv
from tests.making_items import make_payouts
from tests.making_money import make_plan

ACCOUNT = "GB29 NWBK 6016 0000"
COLUMNS = "?cols=reference&cols=account"
People = Callable[..., User]


@pytest.mark.parametrize(("text", "shown"), [(ACCOUNT, "••••0000"), ("1234", "••••"), ("12345", "••••2345"), ("", "")])
def test_a_mask_keeps_the_last_four_of_a_longer_text(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize(
    ("role", "whole"),
    [("staff", True), ("supervisor", True), ("finance", True), ("auditor", False), ("analyst", False)],
)
def test_a_role_sees_the_account_whole_or_masked_on_every_page(
    role: str, whole: bool, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    item, other = make_payouts(tenant=tenant, count=2, account=ACCOUNT)
    client = client_for(make_person(roles=(role,)))
    pages = [f"queues/payouts/{COLUMNS}", f"queues/payouts/{item.pk}/"]
    if role in ("auditor", "supervisor"):
        pages.append(f"admin/queues/payout/{item.pk}/change/")
    if role in ("auditor", "finance"):
        Payout.objects.filter(pk=other.pk).update(state="approved")
        plan = make_plan(make_person(roles=("finance",)), [other])
        pages.append(f"plans/{plan.pk}/")
    for path in pages:
        answer = client.get(f"/t/{tenant.slug}/{path}", follow=True)
        page = answer.content.decode()
        assert answer.status_code == 200, path
        assert (ACCOUNT in page) == whole and ("••••0000" in page) != whole, path


def _export(client: Client, encoding: str = "utf-8") -> ExportRequest:
    answer = client.post("/t/acme/exports/new/payouts/", {"key": "k", "encoding": encoding})
    assert answer.status_code == 303, answer.content.decode()
    return ExportRequest.objects.latest("pk")


def _content(request: ExportRequest) -> bytes:
    assert request.artifact is not None
    return storage.get(key=request.artifact.object_key)


@pytest.mark.parametrize("encoding", ["utf-8", "xlsx"])
def test_a_file_masks_for_its_requester_and_its_manifest_says_so(
    encoding: str, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    make_payouts(tenant=tenant)
    client = client_for(make_person(roles=("analyst",)))
    preview = client.get("/t/acme/exports/new/payouts/").content.decode()
    assert "GB29 NWBK" not in preview and "••••0000" in preview
    request = _export(client, encoding)
    assert request.artifact is not None
    assert request.artifact.manifest["masked"] == ["account"]
    assert "Masked columns" in client.get(f"/t/acme/exports/{request.pk}/").content.decode()
    if encoding == "utf-8":
        assert [row["account"] for row in read_csv(_content(request))] == [f"••••{n:04d}" for n in range(6)]


def test_a_whole_file_is_handed_to_those_alone_who_may_see_it(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    make_payouts(tenant=tenant)
    both = client_for(make_person(roles=("analyst", "supervisor")))
    request = _export(both)
    assert request.artifact is not None and request.artifact.manifest["masked"] == []
    assert read_csv(_content(request))[0]["account"] == ACCOUNT
    download = f"/t/acme/exports/{request.pk}/download/"
    assert client_for(make_person(roles=("analyst",))).post(download, {"key": "a"}).status_code in (403, 409)
    assert both.post(download, {"key": "b"}).status_code == 303


def test_amounts_stand_with_their_currencys_own_decimals_and_lose_none(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    make_payouts(tenant=tenant)
    Payout.objects.filter(currency="USD").update(amount=Decimal("88.1234"))
    rows = read_csv(_content(_export(client_for(make_person(roles=("analyst",))))))
    written: dict[str, Any] = {row["currency"]: row["amount"] for row in rows if row["currency"] != "GBP"}
    assert written == {"EUR": "23800.50", "JPY": "4899000", "KWD": "6520.125", "USD": "88.1234"}
