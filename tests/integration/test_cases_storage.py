"""Keys of any spelling, uploads cut off, links altered or old, and clocks that differ: on the real object storage."""

from __future__ import annotations

import urllib.error
import urllib.request
from datetime import timedelta
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import time_machine
from django.conf import settings

from backoffice import clock, storage
from backoffice.storage import expiring, objects
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant
from tests import factories
from tests.integration.test_storage import fetch, publish

NAMES = [
    "folder a/this im + age.csv",
    "folder a/this%20im%2B.csv",
    "ä/Łódź 张三 😀.csv",
    "a&b=c?d#e.csv",
    "'quoted' \"twice\" <x>.csv",
    "+",
    "=cmd|' /C calc'!A1",
]


@pytest.mark.case("S3-05")
@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_any_spelling_is_listed_as_it_is_and_never_stops_the_sweep(name: str, tenant: Tenant) -> None:
    key = f"tenants/acme/{name}"
    body = name.encode()
    objects.client().put_object(Bucket=settings.S3_BUCKET, Key=key, Body=body)
    assert storage.list_keys(prefix="tenants/acme/") == [key]
    (found,) = storage.list_keys(prefix="tenants/acme/")
    assert objects.client().get_object(Bucket=settings.S3_BUCKET, Key=found)["Body"].read() == body
    artifact = publish()
    with pytest.raises(storage.OutsideTenant):
        storage.get(key=key)  # nothing of ours is ever called so
    assert expiring.sweep_unpublished(now=clock.now() + timedelta(days=2)) == 1
    assert storage.list_keys(prefix="tenants/acme/") == [artifact.object_key]


@pytest.mark.case("S3-05")
def test_a_blank_and_a_plus_are_two_things_in_a_key(tenant: Tenant) -> None:
    for name in ("a b.csv", "a+b.csv", quote("a b.csv"), quote_plus("a b+c.csv")):
        objects.client().put_object(Bucket=settings.S3_BUCKET, Key=f"tenants/acme/x/{name}", Body=name.encode())
    names = [key.rsplit("/", 1)[1] for key in storage.list_keys(prefix="tenants/acme/x/")]
    assert sorted(names) == sorted(["a b.csv", "a+b.csv", "a%20b.csv", "a+b%2Bc.csv"])
    assert storage.delete_under(prefix="tenants/acme/x/") == 4
    assert storage.list_keys(prefix="tenants/acme/x/") == []


def test_the_sweep_keeps_to_its_tenant_and_gives_up_uploads_that_were_cut_off(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    client = objects.client()
    for slug in ("acme", "globex"):
        key = f"tenants/{slug}/exports/9/1/data"
        begun = client.create_multipart_upload(Bucket=settings.S3_BUCKET, Key=key)
        client.upload_part(
            Bucket=settings.S3_BUCKET, Key=key, UploadId=begun["UploadId"], PartNumber=1, Body=b"x" * 5_300_000
        )
    assert expiring.sweep_unpublished(now=clock.now()) == 0
    assert expiring.sweep_unpublished(now=clock.now() + timedelta(days=2)) == 1
    assert list(objects.uploads(prefix="tenants/acme/")) == []
    with scope.open(other_tenant):
        (theirs,) = objects.uploads(prefix="tenants/globex/")
        objects.abort(upload=theirs)


def test_a_listing_goes_on_past_a_thousand_keys(tenant: Tenant) -> None:
    client = objects.client()
    for number in range(1_005):
        client.put_object(Bucket=settings.S3_BUCKET, Key=f"tenants/acme/many/{number:05d}", Body=b"")
    assert len(storage.list_keys(prefix="tenants/acme/many/")) == 1_005
    assert storage.delete_under(prefix="tenants/acme/many/") == 1_005


def test_a_link_of_another_time_method_or_object_opens_nothing(tenant: Tenant, other_tenant: Tenant) -> None:
    artifact = publish()
    link = {"key": artifact.object_key, "filename": artifact.filename, "content_type": artifact.content_type}
    with time_machine.travel(clock.now() - timedelta(minutes=2), tick=True):
        signed = storage.sign(**link)
    assert fetch(signed)[0] == 403, "a link past its minute, by the storage's own clock"
    signed = storage.sign(**link)
    for method in ("PUT", "DELETE", "POST"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(signed, data=b"x", method=method), timeout=20)  # noqa: S310  (a link of ours)
        assert refused.value.code in {400, 403, 405}
    for altered in (
        signed.replace("response-content-disposition=", "response-content-disposition=inline%3B"),
        signed.replace("X-Amz-Date=2", "X-Amz-Date=3"),
        f"{signed}&response-content-type=text%2Fhtml",
        signed.replace("/data?", "/data%2F..%2F..?"),
    ):
        assert fetch(altered)[0] in {400, 403, 404}, altered
    assert fetch(signed)[0] == 200


def test_a_tenant_whose_name_begins_like_anothers_sees_nothing_of_it(tenant: Tenant) -> None:
    longer = factories.make_tenant(slug="acme-two", name="Acme Two")
    with scope.open(longer):
        storage.put(key=storage.object_key(area="exports", request_id=1, fence=1), data=b"theirs")
    assert storage.list_keys(prefix="tenants/acme/") == []
    assert expiring.sweep_unpublished(now=clock.now() + timedelta(days=2)) == 0
    with scope.open(longer):
        kept: list[Any] = storage.list_keys(prefix="tenants/acme-two/")
        assert len(kept) == 1
