"""Who asked for a job is told once that it ended, why, and what it changed or did not, however it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from smtplib import SMTPException, SMTPRecipientsRefused
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.test import Client

from backoffice import clock, commands, jobs
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs import mailing, noticing, purging, reconciling
from backoffice.jobs.base import Consequence, kinds
from backoffice.jobs.models import Job, Notice
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from tests.probe_jobs import claiming
from tests.probe_jobs.definitions import probes

Make = Callable[..., User]
SignIn = Callable[..., Client]


def _words(person: User) -> list[tuple[str, list[str]]]:
    return [(told.state, told.words) for told in noticing.page(person=person, before=0, size=50)]


def _text(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return str(response.content.decode())


def _ended(person: User | None, kind: str = "probe.idle", key: str = "a", **arguments: int | str) -> Job:
    job = jobs.submit(kind=kind, key=key, arguments=arguments, requested_by=person)
    claiming.run(job)
    return job


def test_every_end_of_a_job_tells_who_asked_for_it(tenant: Tenant, make_person: Make) -> None:
    person = make_person(roles=("analyst",))
    done = _ended(person)
    refused = _ended(person, "probe.refused")
    lost = jobs.submit(kind="probe.gated", key="lost", arguments={"folder": "x"}, requested_by=person)
    for _attempt in range(3):
        claiming.claim(lost)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE job SET lease_until = clock_timestamp() WHERE id = %s", [lost.pk])
        reconciling.end_overdue()
    cancelled = jobs.submit(kind="probe.polite", key="c", requested_by=person)
    commands.dispatch(jobs.cancel, actor=Actor.person(person), key="k", job_id=cancelled.pk)
    notices = list(Notice.objects.order_by("id"))
    assert [notice.job_id for notice in notices] == [done.pk, refused.pk, lost.pk, cancelled.pk]
    assert {(notice.person_id, notice.tenant_id) for notice in notices} == {(person.pk, tenant.pk)}
    settled = Job.objects.get(pk=done.pk).settled_at
    assert notices[0].at == settled
    told = dict(zip(("cancelled", "lost", "refused", "done"), _words(person), strict=True))
    assert told["done"] == ("succeeded", ["Its marks are left."])
    assert told["refused"][0] == "failed"
    assert told["refused"][1][0].startswith("The account is closed.")
    assert told["refused"][1][1] == "Nothing else is changed by this failure. It is a test."
    assert told["refused"][1][2] == "None of its steps was done."
    assert told["lost"][1][1] == "The gate stays shut."
    assert told["cancelled"] == ("cancelled", ["It was cancelled.", "None of its steps was done."])


def test_what_was_done_before_a_failure_is_said(tenant: Tenant, make_person: Make) -> None:
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind="probe.flaky", key="a", arguments={"times": 9}, requested_by=person)
    for _attempt in range(3):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE job SET available_at = clock_timestamp() WHERE id = %s", [job.pk])
        claiming.run(job)
    [(state, words)] = _words(person)
    assert state == "failed" and words[0].startswith("Something unexpected went wrong.")
    assert words[2] == "1 of its 3 steps were done before; what they did stays done."


def test_a_job_that_nobody_asked_for_and_one_that_goes_on_give_no_notice(tenant: Tenant, make_person: Make) -> None:
    _ended(None)
    _ended(make_person(roles=("analyst",)), "probe.flaky", "b", times=1)
    assert not Notice.objects.exists()


def test_the_notice_goes_with_the_transaction_that_ends_the_job(tenant: Tenant, make_person: Make) -> None:
    job = jobs.submit(kind="probe.idle", key="a", requested_by=make_person(roles=("analyst",)))
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE job SET state = 'cancelled', settled_at = clock_timestamp() WHERE id = %s", [job.pk])
        cursor.execute("ROLLBACK")
        assert not Notice.objects.exists()
        cursor.execute("UPDATE job SET state = 'cancelled', settled_at = clock_timestamp() WHERE id = %s", [job.pk])
    assert Notice.objects.get().job_id == job.pk


def test_the_words_are_those_of_the_job_as_it_was_submitted(
    tenant: Tenant, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = make_person(roles=("analyst",))
    _ended(person, "probe.refused")
    monkeypatch.setattr(type(kinds.get("probe.refused")), "failure", Consequence("Another meaning."))
    assert "Another meaning." not in str(_words(person))


def test_the_page_counts_the_unread_and_marks_them_by_post(
    tenant: Tenant, make_person: Make, client_for: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, other = make_person(roles=("analyst",)), make_person(roles=("analyst",))
    first, second = _ended(person), _ended(person, "probe.refused")
    _ended(other, key="theirs")
    monkeypatch.setattr(type(kinds.get("probe.idle")), "address", lambda self, job: f"/t/acme/results/{job.pk}")
    client, path = client_for(person), f"/t/{tenant.slug}/notices/"
    page = _text(client.get(path))
    assert '2<span class="visually-hidden"> unread' in page
    assert f'/jobs/{first.pk}/"' in page and f'/jobs/{second.pk}/"' in page
    assert f"/results/{first.pk}" in page and f"/results/{second.pk}" not in page
    notice = Notice.objects.get(job=first)
    assert client.get(f"{path}{notice.pk}/read/").status_code == 405
    assert client.post(f"{path}{notice.pk}/read/", {"key": ""}).status_code == 409
    for key in ("k1", "k1", "k2"):
        assert client.post(f"{path}{notice.pk}/read/", {"key": key}).status_code == 302
    assert '1<span class="visually-hidden"> unread' in _text(client.get(f"/t/{tenant.slug}/jobs/"))
    newest = Notice.objects.get(job=second).pk
    third = _ended(person, key="later")
    assert client.post(f"{path}read/", {"key": "k3", "up_to": newest}).status_code == 302
    assert list(Notice.objects.filter(person=person, read_at=None).values_list("job", flat=True)) == [third.pk]
    assert Notice.objects.filter(person=other, read_at=None).count() == 1
    assert "/notices/" not in _text(client_for(make_person(roles=("staff",))).get(f"/t/{tenant.slug}/"))


def test_a_notice_is_read_by_its_person_alone(
    tenant: Tenant, other_tenant: Tenant, make_person: Make, client_for: SignIn
) -> None:
    person, member = make_person(roles=("analyst",)), make_person(roles=("supervisor",))
    outsider = make_person(roles=("supervisor",), tenant=other_tenant)
    _ended(person)
    notice = Notice.objects.get()
    path = f"/t/{tenant.slug}/notices/"
    assert "No notices" in _text(client_for(member).get(path))
    assert client_for(member).post(f"{path}{notice.pk}/read/", {"key": "k"}).status_code == 404
    assert client_for(outsider).get(path).status_code == 404
    with pytest.raises(Refusal, match="no-such-notice"):
        commands.dispatch(noticing.read, actor=Actor.person(member), key="k", notice_id=notice.pk)
    staff = Actor.person(make_person(roles=("staff",)))
    with pytest.raises(NotPermitted):
        commands.dispatch(noticing.read_all, actor=staff, key="k", up_to=notice.pk)


def test_an_operator_on_the_platform_reads_what_came_of_a_retry_in_a_tenant(
    tenant: Tenant, make_person: Make, client_for: SignIn
) -> None:
    platform = Tenant.objects.get(slug="platform")
    operator = make_person(roles=("operator",), tenant=platform)
    old = _ended(None, "probe.refused")
    with scope.open(platform):
        outcome = commands.dispatch(jobs.retry, actor=Actor.person(operator), key="k", job_id=old.pk)
    claiming.run(Job.objects.get(pk=outcome.data["job"]))
    page = _text(client_for(operator).get("/t/platform/notices/"))
    assert tenant.name in page and "The account is closed." in page
    notice = Notice.objects.get()
    assert client_for(operator).post(f"/t/platform/notices/{notice.pk}/read/", {"key": "k"}).status_code == 302
    notice.refresh_from_db()
    assert notice.read_at is not None


@pytest.mark.proves("record#10")
def test_notices_leave_with_their_jobs_and_with_their_tenant(
    tenant: Tenant, other_tenant: Tenant, make_person: Make
) -> None:
    person = make_person(roles=("analyst",))
    _ended(person)
    with scope.open(other_tenant):
        _ended(make_person(roles=("analyst",), tenant=other_tenant))
    assert purging.purge_ended(before=clock.now() + timedelta(minutes=1)) == 1
    assert not Notice.objects.exists()
    _ended(person, key="b")
    with scope.open(Tenant.objects.get(slug="platform")):
        _ended(None, "jobs.purge-tenant", tenant=tenant.pk)
    assert not Notice.objects.exists() and not Job.objects.exists()
    with scope.open(other_tenant):
        assert Notice.objects.count() == 1


@contextmanager
def _mail_server(settings: Any, failing: Exception | None = None) -> Iterator[None]:
    settings.EMAIL_HOST = "mail.example.com"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    mail.outbox = []
    original = EmailBackend.send_messages

    def send(self: EmailBackend, messages: Any) -> int:
        if failing is not None:
            raise failing
        return original(self, messages)

    EmailBackend.send_messages = send  # type: ignore[method-assign]  # a server that answers as the test wants
    try:
        yield
    finally:
        EmailBackend.send_messages = original  # type: ignore[method-assign]  # as above


def test_a_notice_is_mailed_once_where_a_server_is_named(tenant: Tenant, make_person: Make, settings: Any) -> None:
    person = make_person(roles=("analyst",), email="ann@example.com")
    _ended(person, "probe.refused")
    settings.EMAIL_HOST = ""
    assert mailing.mail_due() == 0
    with _mail_server(settings):
        assert [mailing.mail_due(), mailing.mail_due()] == [1, 0]
        [sent] = mail.outbox
        assert (sent.to, sent.subject) == (["ann@example.com"], "A probe: failed")
        assert "The account is closed." in sent.body and "Acme" in sent.body
        assert "None of its steps was done." in sent.body and "It is on your page of notices" in sent.body
        assert "://" not in sent.body


def test_a_mail_links_to_the_page_where_its_reader_may_look(
    tenant: Tenant, make_person: Make, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PUBLIC_URL = "https://backoffice.example"
    monkeypatch.setattr(type(kinds.get("probe.idle")), "address", lambda self, job: f"/results/{job.pk}/")
    person = make_person(roles=("analyst",), email="ann@example.com")
    operator = make_person(roles=("operator",), tenant=Tenant.objects.get(slug="platform"), email="ola@example.com")
    done, refused = _ended(person), _ended(person, "probe.refused", "b")
    theirs = _ended(operator, key="c")
    with _mail_server(settings):
        assert mailing.mail_due() == 3
    assert [(one.to[0], one.body.splitlines()[-1]) for one in mail.outbox] == [
        ("ann@example.com", f"https://backoffice.example/t/acme/results/{done.pk}/"),
        ("ann@example.com", f"https://backoffice.example/t/acme/jobs/{refused.pk}/"),
        ("ola@example.com", f"https://backoffice.example/t/platform/jobs/{theirs.pk}/"),
    ]
    assert mail.outbox[0].body.splitlines()[0] == "Its marks are left."


def test_no_detail_of_a_failure_is_in_a_notice_or_its_mail(tenant: Tenant, make_person: Make, settings: Any) -> None:
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind="probe.flaky", key="a", arguments={"times": 9}, requested_by=person)
    for _attempt in range(3):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE job SET available_at = clock_timestamp() WHERE id = %s", [job.pk])
        claiming.run(job)
    with _mail_server(settings):
        assert mailing.mail_due() == 1
    assert "1 of its 3 steps were done before" in mail.outbox[0].body
    assert probes.CANARY not in mail.outbox[0].body + mail.outbox[0].subject + str(_words(person))


def test_a_notice_whose_kind_cannot_be_put_into_words_costs_no_other_its_mail(
    tenant: Tenant, make_person: Make, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = make_person(roles=("analyst",))
    _ended(person)
    _ended(person, "probe.refused", "b")
    monkeypatch.setattr(type(kinds.get("probe.idle")), "changed", lambda self, jobs: 1 / 0)
    with _mail_server(settings):
        assert [mailing.mail_due(), mailing.mail_due()] == [2, 0]
    assert [one.subject for one in mail.outbox] == ["A probe: failed"]


def test_a_mail_server_that_fails_changes_nothing_and_is_asked_again(
    tenant: Tenant, make_person: Make, settings: Any
) -> None:
    _ended(make_person(roles=("analyst",)))
    for failure in (SMTPException("busy"), ConnectionRefusedError()):
        with _mail_server(settings, failure):
            assert mailing.mail_due() == 0
    with _mail_server(settings):
        assert mailing.mail_due() == 1
    _ended(make_person(roles=("analyst",)), key="b")
    with _mail_server(settings, SMTPRecipientsRefused({})):
        assert [mailing.mail_due(), mailing.mail_due()] == [1, 0]
