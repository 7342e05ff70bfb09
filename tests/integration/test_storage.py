"""Objects lie under their tenant's path, links open one of them for a moment, files end when they should."""

from __future__ import annotations

import hashlib
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import override_settings

from backoffice import clock, commands, storage
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.storage import expiring, objects
from backoffice.storage.models import Artifact
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, Tenant, User

BYTES = b"id,reference\n1,a\n"


def publish(
    *, request_id: int = 1, data: bytes = BYTES, lifetime: timedelta = timedelta(hours=1), **wanted: Any
) -> Artifact:
    key = storage.object_key(area="exports", request_id=request_id, fence=1)
    storage.put(key=key, data=data)
    return storage.publish(
        **{
            "subject": f"exports:{request_id}",
            "key": key,
            "filename": "payouts.csv",
            "content_type": "text/csv; charset=utf-8",
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "rows": 1,
            "manifest": {},
            "contact": "finance-operations",
            "needs": ["exports.download", "queues.view_payout"],
            "lifetime": lifetime,
            **wanted,
        }
    )


def fetch(url: str) -> tuple[int, Message, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310  (a link this test made)
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


@pytest.mark.proves("jobs#scope-export-output-to-the-tenant")
def test_a_key_is_built_under_the_open_tenants_path(tenant: Tenant, other_tenant: Tenant) -> None:
    assert storage.object_key(area="exports", request_id=17, fence=3) == "tenants/acme/exports/17/3/data"
    with scope.open(other_tenant):
        assert storage.object_key(area="reports", request_id=17, fence=3) == "tenants/globex/reports/17/3/data"


@pytest.mark.proves("jobs#scope-export-output-to-the-tenant")
@pytest.mark.parametrize(
    "key",
    [
        "tenants/globex/exports/1/1/data",
        "tenants/acme/../globex/exports/1/1/data",
        "tenants/acme/./x",
        "tenants/acme//x",
        "tenants/acmex/exports/1/1/data",
        "/tenants/acme/exports/1/1/data",
        "tenants/acme/a\nb",
        "tenants/",
        "",
    ],
)
def test_no_key_outside_the_tenants_path_is_read_or_written(key: str, tenant: Tenant) -> None:
    acts: list[Callable[[], Any]] = [
        lambda: storage.put(key=key, data=b"x"),
        lambda: storage.put_file(key=key, path=Path(__file__), content_type="text/plain"),
        lambda: storage.get(key=key),
        lambda: storage.exists(key=key),
        lambda: storage.delete(key=key),
        lambda: storage.delete_under(prefix=key),
        lambda: storage.list_keys(prefix=key),
        lambda: storage.sign(key=key, filename="x", content_type="text/plain"),
    ]
    for act in acts:
        with pytest.raises(storage.OutsideTenant):
            act()


def test_an_object_comes_back_as_it_was_stored(tenant: Tenant) -> None:
    key = storage.object_key(area="exports", request_id=1, fence=1)
    assert not storage.exists(key=key)
    storage.put(key=key, data=BYTES)
    assert storage.get(key=key) == BYTES
    assert storage.list_keys(prefix="tenants/acme/exports/") == [key]
    storage.delete(key=key)
    storage.delete(key=key)
    with pytest.raises(KeyError):
        storage.get(key=key)


def test_a_large_file_goes_up_in_parts(tenant: Tenant, tmp_path: Path) -> None:
    key = storage.object_key(area="exports", request_id=2, fence=1)
    file = tmp_path / "large"
    file.write_bytes(bytes(range(256)) * (20 * 1024 * 1024 // 256))
    storage.put_file(key=key, path=file, content_type="text/csv")
    head = objects.client().head_object(Bucket="backoffice", Key=key)
    assert head["ContentLength"] == file.stat().st_size
    assert head["ETag"].strip('"').endswith("-3")
    digest = hashlib.sha256()
    for chunk in storage.open_stream(key=key):
        digest.update(chunk)
    assert digest.hexdigest() == hashlib.sha256(file.read_bytes()).hexdigest()
    storage.delete(key=key)


def test_an_upload_that_fails_half_way_leaves_neither_object_nor_parts(
    tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = storage.object_key(area="exports", request_id=3, fence=1)
    file = tmp_path / "large"
    file.write_bytes(b"x" * (20 * 1024 * 1024))
    client = objects.client()
    sent = client.upload_part
    parts: list[int] = []

    def break_the_last(**arguments: Any) -> Any:
        parts.append(arguments["PartNumber"])
        if arguments["PartNumber"] == 3:
            raise ConnectionResetError("the line broke")
        return sent(**arguments)

    monkeypatch.setattr(client, "upload_part", break_the_last)
    with pytest.raises(Exception, match="the line broke"):
        storage.put_file(key=key, path=file, content_type="text/csv")
    assert 3 in parts
    assert not storage.exists(key=key)
    assert not client.list_multipart_uploads(Bucket="backoffice", Prefix=key).get("Uploads")


@pytest.mark.proves("jobs#protect-export-output")
def test_a_signed_link_opens_the_object_and_only_for_its_life(tenant: Tenant) -> None:
    artifact = publish()
    link = {"key": artifact.object_key, "filename": artifact.filename, "content_type": artifact.content_type}
    lasting = storage.sign(**link)
    status, headers, body = fetch(lasting)
    assert (status, body) == (200, BYTES)
    assert headers["Content-Type"] == "text/csv; charset=utf-8"
    assert headers["Content-Disposition"].startswith('attachment; filename="payouts.csv"')
    assert "X-Amz-Expires=60" in lasting

    short = storage.sign(**link, seconds=1)
    until = time.monotonic() + 10
    while fetch(short)[0] == 200 and time.monotonic() < until:
        time.sleep(0.2)
    assert fetch(short)[0] == 403


@pytest.mark.proves("jobs#protect-export-output")
def test_a_link_without_its_signature_or_with_another_is_refused(tenant: Tenant, other_tenant: Tenant) -> None:
    artifact = publish()
    link = storage.sign(key=artifact.object_key, filename="payouts.csv", content_type="text/csv")
    last = link[-1]
    with scope.open(other_tenant):
        foreign = publish()
    for altered in (
        link.split("?")[0],
        link[:-1] + ("0" if last != "0" else "1"),
        link.replace(artifact.object_key, foreign.object_key),
        link.replace("X-Amz-Expires=60", "X-Amz-Expires=6000"),
        re.sub(r"&X-Amz-Signature=\w+", "", link),
    ):
        status, _headers, body = fetch(altered)
        assert status in {400, 403}, altered
        assert BYTES not in body


@pytest.mark.case("S3-04")
@pytest.mark.parametrize(
    "name",
    [
        'Auszahlungen März; "Q1".csv',
        "two\r\nSet-Cookie: a=b\n.csv",
        "支払い 2026.csv",
        "100% + 'quoted' (1)*.csv",
        "a\u2028b\u202egnp.csv",
        "../../etc/passwd",
        "..",
        "",
        "x" * 5_000 + ".csv",
        "\x00\ud800.csv",
    ],
)
def test_a_download_name_neither_breaks_the_link_nor_the_header(name: str, tenant: Tenant) -> None:
    artifact = publish()
    status, headers, body = fetch(
        storage.sign(key=artifact.object_key, filename=name, content_type="text/csv; charset=utf-8")
    )
    assert (status, body) == (200, BYTES)
    value = headers["Content-Disposition"]
    match = re.fullmatch(
        r"attachment; filename=\"([ !#$&()*+,./0-9:<=>?@A-Z\[\]^_`a-z{|}~-]+)\"; filename\*=UTF-8''(\S+)", value
    )
    assert match, value
    assert headers["Set-Cookie"] is None
    saved = unquote(match[2])
    assert saved not in {"", ".", ".."} and "/" not in saved and "\n" not in saved
    if name.startswith("Auszahlungen"):
        assert saved == name


@pytest.mark.proves("jobs#audit-export-reads", "jobs#protect-export-output")
def test_a_download_is_audited_and_counted_from_the_audit(tenant: Tenant, make_person: Callable[..., User]) -> None:
    artifact, ann, bob = publish(), make_person(roles=("analyst",)), make_person(roles=("analyst",))
    for person, key in ((ann, "first"), (bob, "second"), (bob, "second")):
        link = storage.download(actor=Actor.person(person), key=key, artifact_id=artifact.pk)
        assert fetch(link.url)[2] == BYTES
    assert [event.actor for event in storage.downloads(artifact=artifact)] == [bob.email, ann.email]
    assert not AuditEvent.objects.filter(data__icontains="X-Amz").exists()


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_a_download_needs_what_the_file_holds(tenant: Tenant, make_person: Callable[..., User]) -> None:
    artifact = publish(needs=["exports.download", "queues.view_accountreview"])
    for roles in (("staff",), ("analyst",), ("finance",)):
        person = make_person(roles=roles)
        with pytest.raises(NotPermitted):
            storage.download(actor=Actor.person(person), key="x", artifact_id=artifact.pk)
    refused = AuditEvent.objects.filter(act="artifact.download", outcome="refused", code="not-permitted")
    assert refused.count() == 3


@pytest.mark.proves("jobs#apply-item-read-authorization")
def test_another_tenants_artifact_is_not_there(
    tenant: Tenant, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    artifact = publish()
    stranger = make_person(tenant=other_tenant, roles=("analyst",))
    with scope.open(other_tenant), pytest.raises(Refusal, match="unknown-artifact"):
        storage.download(actor=Actor.person(stranger), key="x", artifact_id=artifact.pk)


@pytest.mark.proves("jobs#support-report-cancellation", "jobs#protect-export-output")
def test_an_expired_file_is_refused_and_removed(tenant: Tenant, make_person: Callable[..., User]) -> None:
    artifact = publish(lifetime=timedelta(seconds=1), preview=[["EUR", 1]])
    person = Actor.person(make_person(roles=("analyst",)))
    shell = Actor.system("shell", acting_for="test")
    with pytest.raises(Refusal, match="not-expired"):
        commands.dispatch(expiring.expire_artifact, actor=shell, key="early", artifact_id=artifact.pk)
    storage.download(actor=person, key="in time", artifact_id=artifact.pk)
    time.sleep(1.1)
    for key in ("late", "in time"):
        with pytest.raises(Refusal, match="expired"):
            storage.download(actor=person, key=key, artifact_id=artifact.pk)
    assert list(storage.expired(now=clock.now())) == [artifact]
    commands.dispatch(expiring.expire_artifact, actor=shell, key="due", artifact_id=artifact.pk)
    assert not storage.exists(key=artifact.object_key)
    artifact.refresh_from_db()
    assert artifact.removed_at is not None and artifact.preview is None
    assert not storage.expired(now=clock.now()).exists()
    with pytest.raises(Refusal, match="not-expired"):
        commands.dispatch(expiring.expire_artifact, actor=shell, key="again", artifact_id=artifact.pk)


def test_a_revoked_file_is_gone_with_every_link_to_it(tenant: Tenant, make_person: Callable[..., User]) -> None:
    artifact = publish()
    person = Actor.person(make_person(roles=("analyst",)))
    link = storage.download(actor=person, key="before", artifact_id=artifact.pk)
    commands.dispatch(expiring.revoke_artifact, actor=person, key="revoke", artifact_id=artifact.pk)
    assert fetch(link.url)[0] == 404
    with pytest.raises(Refusal, match="revoked") as refusal:
        storage.download(actor=person, key="after", artifact_id=artifact.pk)
    assert "finance-operations" in str(refusal.value.message)


def test_without_an_address_for_browsers_the_product_streams(tenant: Tenant, make_person: Callable[..., User]) -> None:
    artifact = publish()
    with override_settings(S3_PUBLIC_ENDPOINT_URL=""):
        link = storage.download(actor=Actor.person(make_person(roles=("analyst",))), key="x", artifact_id=artifact.pk)
    assert link.url == "" and link.stream is not None
    assert b"".join(link.stream) == BYTES


def test_a_role_taken_away_ends_the_downloads(tenant: Tenant, make_person: Callable[..., User]) -> None:
    artifact, person = publish(), make_person(roles=("analyst",))
    Membership.objects.filter(user=person).update(roles=["auditor"])
    with pytest.raises(NotPermitted):
        storage.download(actor=Actor.person(person), key="x", artifact_id=artifact.pk)


def test_the_sweep_takes_what_no_artifact_names_and_is_old(tenant: Tenant) -> None:
    artifact = publish()
    orphan = storage.object_key(area="exports", request_id=9, fence=4)
    storage.put(key=orphan, data=b"half")
    assert storage.sweep_unpublished(now=clock.now()) == 0
    assert storage.sweep_unpublished(now=clock.now() + timedelta(days=2)) == 1
    assert storage.exists(key=artifact.object_key) and not storage.exists(key=orphan)


@pytest.mark.parametrize("address", ["ftp://store", "store.example.com", "https://store.example.com/bucket?x=1"])
def test_a_wrong_address_for_browsers_is_said_at_start(address: str) -> None:
    from backoffice.storage import checks

    with override_settings(S3_PUBLIC_ENDPOINT_URL=address):
        assert [found.id for found in checks.check_public_endpoint()] == ["storage.E001"]
    with override_settings(S3_PUBLIC_ENDPOINT_URL=""):
        assert checks.check_public_endpoint() == []
