"""An invitation's link is mailed where mail goes out, and the page says whether it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.test import Client
from django.utils import formats, timezone, translation

from backoffice.audit.models import AuditEvent
from backoffice.people.models import Invitation
from backoffice.tenants.models import Membership, Tenant, User

PUBLIC = "https://backoffice.example"
People = Callable[..., User]


class SilentServer(BaseEmailBackend):
    """A mail server that does not answer."""

    def send_messages(self, email_messages: Any) -> int:
        raise TimeoutError("no answer")


@pytest.fixture
def mails(settings: Any) -> None:
    settings.EMAIL_HOST, settings.PUBLIC_URL = "mail.example", PUBLIC
    mail.outbox.clear()


def _post(client: Client, tenant: Tenant, path: str = "", **form: Any) -> Any:
    return client.post(f"/t/{tenant.slug}/people/{path}", {"key": uuid4().hex, **form})


def _invite(client: Client, tenant: Tenant, email: str = "new@example.com") -> str:
    return _post(client, tenant, email=email, roles=["staff", "analyst"]).content.decode()


def _links(text: str) -> list[str]:
    return [word for word in text.split() if "/invitation/" in word]


def test_the_link_goes_to_the_invited_address_with_company_inviter_and_end(
    mails: None, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(time_zone="Asia/Tokyo")
    client = client_for(make_person(roles=("supervisor",), name="Ada Lovelace", email="ada@example.com"))
    page = _invite(client, tenant)
    (message,) = mail.outbox
    assert message.to == ["new@example.com"] and message.reply_to == ["ada@example.com"]
    assert message.subject == "Ada Lovelace invites you to join Acme"
    (link,) = _links(str(message.body))
    assert link.startswith(f"{PUBLIC}/invitation/") and link in page
    for words in ("Acme", "Ada Lovelace (ada@example.com)", "staff, analyst", "JST"):
        assert words in message.body
    assert "on its way to new@example.com" in page
    assert Invitation.objects.get().mailed_at is not None
    assert AuditEvent.objects.filter(act="invitation.mailed").count() == 1
    assert Client().get(link.removeprefix(PUBLIC)).status_code == 200


def test_without_a_mail_server_the_page_says_that_nothing_was_mailed(
    tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    page = _invite(client_for(make_person(roles=("supervisor",))), tenant)
    assert "No mail goes out here" in page and mail.outbox == []
    assert Invitation.objects.get().mailed_at is None


def test_a_silent_mail_server_undoes_nothing_and_is_said(
    mails: None, settings: Any, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.SilentServer"
    page = _invite(client_for(make_person(roles=("supervisor",))), tenant)
    assert "could not be mailed" in page and _links(page.replace("<", " ").replace(">", " "))
    assert Invitation.objects.get().mailed_at is None
    assert not AuditEvent.objects.filter(act="invitation.mailed").exists()


def test_a_new_link_ends_the_old_one_and_has_its_whole_time_again(
    mails: None, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    client = client_for(make_person(roles=("supervisor",)))
    _invite(client, tenant)
    found = Invitation.objects.get()
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert "unused" in client.get(f"/t/{tenant.slug}/people/").content.decode()
    assert _post(client, tenant, f"invitations/{found.pk}/resend/").status_code == 200
    old, new = (_links(str(message.body))[0].removeprefix(PUBLIC) for message in mail.outbox)
    assert Client().get(old).status_code == 404 and Client().get(new).status_code == 200
    assert Invitation.objects.get().expires_at > timezone.now() + timedelta(hours=71)
    assert AuditEvent.objects.filter(act="invitation.renew").count() == 1
    assert _post(client, tenant, f"invitations/{found.pk}/revoke/").status_code == 303
    assert _post(client, tenant, f"invitations/{found.pk}/resend/").status_code == 409
    assert Client().get(new).status_code == 404 and len(mail.outbox) == 2


def test_the_same_form_sent_twice_mails_once(
    mails: None, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    client, form = client_for(make_person(roles=("supervisor",))), {"email": "a@example.com", "roles": "staff"}
    assert [_post(client, tenant, **form, key="once").status_code for _turn in range(2)] == [200, 409]
    assert len(mail.outbox) == 1


def test_a_name_of_two_lines_adds_no_header(
    mails: None, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(name="Acme\r\nBcc: all@example.com")
    _invite(client_for(make_person(roles=("supervisor",), name="Eve\r\nBcc: all@example.com")), tenant)
    (message,) = mail.outbox
    assert message.recipients() == ["new@example.com"] and "\n" not in message.subject


def test_an_invited_person_reads_their_own_language_where_they_have_one(
    mails: None, tenant: Tenant, other_tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    User.objects.filter(pk=make_person(tenant=other_tenant, email="de@example.com").pk).update(language="de")
    _invite(client_for(make_person(roles=("supervisor",))), tenant, email="de@example.com")
    (message,) = mail.outbox
    with translation.override("de"):
        assert formats.date_format(Invitation.objects.get().expires_at, "M") in message.body


@pytest.mark.parametrize("act", ["resend", "revoke"])
def test_another_companys_invitation_is_out_of_reach(
    act: str, mails: None, tenant: Tenant, other_tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    _invite(client_for(make_person(roles=("supervisor",))), tenant)
    found = Invitation.objects.get()
    stranger = make_person(tenant=other_tenant, roles=("supervisor",))
    assert _post(client_for(stranger), other_tenant, f"invitations/{found.pk}/{act}/").status_code == 409
    assert _post(client_for(make_person()), tenant, f"invitations/{found.pk}/{act}/").status_code == 403
    assert Invitation.objects.get().token_hash == found.token_hash and len(mail.outbox) == 1


def test_an_invited_person_who_came_another_way_gets_no_new_link(
    mails: None, tenant: Tenant, make_person: People, client_for: Callable[..., Client]
) -> None:
    client = client_for(make_person(roles=("supervisor",)))
    _invite(client, tenant)
    make_person(email="new@example.com")
    assert _post(client, tenant, f"invitations/{Invitation.objects.get().pk}/resend/").status_code == 409
    assert Membership.objects.count() == 2 and len(mail.outbox) == 1
