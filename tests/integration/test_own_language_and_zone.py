"""Every page writes each instant in its reader's own time zone, and says which language it is in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from backoffice.tenants.models import Tenant, User
from tests.making_company import make_company

_TIME = re.compile(r'<time datetime="([^"]+)"[^>]*>([^<]+)</time>')
_CLOCK = re.compile(r"\b(\d{2}:\d{2})\b")
# The machine's day and hour of a page in another zone: whoever wrote it asked no filter of ours.
_RAW = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d")


@pytest.mark.parametrize(("zone", "language"), [("Pacific/Auckland", "de"), ("America/Los_Angeles", "en-gb")])
def test_each_instant_of_each_page_is_in_the_readers_zone(
    zone: str, language: str, tenant: Tenant, client_for: Callable[..., Client]
) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(time_zone="Asia/Tokyo")
    made = make_company(tenant=tenant, client=client_for)
    User.objects.filter(pk__in=[made.person.pk, made.operator.pk]).update(time_zone=zone, language=language)
    seen = 0
    for person, pages in ((made.person, made.pages), (made.operator, made.operator_pages)):
        client = client_for(person)
        for name, address in pages.items():
            page = client.get(address, headers={"accept-language": "fr"}).content.decode()
            if not name.startswith("error"):
                assert f'<html lang="{language}"' in page, name
            for stamp, text in _TIME.findall(page):
                local = datetime.fromisoformat(unescape(stamp)).astimezone(ZoneInfo(zone))
                clocks = _CLOCK.findall(text)
                assert not clocks or f"{local:%H:%M}" in clocks, (name, stamp, text)
                seen += bool(clocks)
            if name == "export-new":
                continue  # its preview is the file as it will be: in the company's zone, for whoever reads it
            page = re.sub(r"<code>[^<]*</code>", "", page)  # what a machine wrote for a machine
            shown = re.sub(r'(datetime|title|value|data-[a-z-]+)="[^"]*"', "", page)
            assert not _RAW.findall(shown), (name, _RAW.findall(shown))
    assert seen > 40


def test_numbers_and_months_follow_the_readers_language(tenant: Tenant, client_for: Callable[..., Client]) -> None:
    made: Any = make_company(tenant=tenant, client=client_for)
    User.objects.filter(pk=made.person.pk).update(language="de")
    page = client_for(made.person).get(made.pages["item-held"]).content.decode()
    assert "EUR 23.800,50" in page
