"""A device is enrolled by its owner with another person's word, and is removed by two others."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.checks import run_checks
from django.db.models.functions import Now
from django.test import Client, override_settings

from backoffice import commands, stepup
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.commands.models import Receipt
from backoffice.errors import Refusal
from backoffice.livesettings.models import SettingValue
from backoffice.stepup import codes, enrolling, removing, sealing, spending
from backoffice.stepup.models import Device, EnrolmentCode
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from tests.making_codes import fresh_code, make_device

PASSWORD = "correct horse battery"


@pytest.fixture
def owner(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",), password=PASSWORD, email="owner@acme.example")


@pytest.fixture
def supervisor(make_person: Callable[..., User]) -> User:
    return make_person(roles=("supervisor",))


def _code_for(owner: User, issuer: User, key: str = "issue") -> str:
    return enrolling.issue_code(actor=Actor.person(issuer), person_id=owner.pk, key=key)


def _start(owner: User, proof: str, *, password: str = PASSWORD, key: str = "start") -> enrolling.Started:
    return enrolling.start(person=owner, name="Phone", password=password, proof=proof, key=key)


def _code_of(started: enrolling.Started, *, ahead: int = 0) -> str:
    return codes.code_of(secret=started.secret, step=codes.step_at(spending.database_time()) + ahead)


def test_a_first_device_needs_another_persons_code_the_password_and_its_own_first_code(
    owner: User, supervisor: User
) -> None:
    started = _start(owner, _code_for(owner, supervisor).lower())
    assert (started.device.state, started.device.usable_at) == ("pending", None)
    with pytest.raises(Refusal, match="no-device"):
        stepup.confirm(person=owner, code=_code_of(started), plan_id=1, digest="d" * 64)
    device = enrolling.activate(person=owner, device_id=started.device.pk, code=_code_of(started), key="activate")
    assert device.state == "active"
    with pytest.raises(Refusal, match="too-new"):
        stepup.confirm(person=owner, code=_code_of(started, ahead=1), plan_id=1, digest="d" * 64)


def test_the_wait_is_a_live_setting(owner: User, supervisor: User, tenant: Tenant) -> None:
    SettingValue.objects.create(tenant=tenant, name="stepup.device_wait_hours", value=0)
    started = _start(owner, _code_for(owner, supervisor))
    enrolling.activate(person=owner, device_id=started.device.pk, code=_code_of(started), key="activate")
    stepup.confirm(person=owner, code=_code_of(started, ahead=1), plan_id=1, digest="d" * 64)


def test_an_enrolment_code_is_used_once_expires_and_belongs_to_one_person(
    owner: User, supervisor: User, make_person: Callable[..., User]
) -> None:
    code = _code_for(owner, supervisor)
    other = make_person(roles=("finance",), password=PASSWORD)
    with pytest.raises(Refusal, match="wrong-enrolment-code"):
        _start(other, code, key="other")
    _start(owner, code)
    with pytest.raises(Refusal, match="wrong-enrolment-code"):
        _start(owner, code, key="again")
    late = _code_for(owner, supervisor, key="late")
    EnrolmentCode.objects.update(expires_at=Now() - timedelta(seconds=1))
    with pytest.raises(Refusal, match="wrong-enrolment-code"):
        _start(owner, late, key="late")


def test_a_new_enrolment_code_ends_the_one_before(owner: User, supervisor: User) -> None:
    first = _code_for(owner, supervisor)
    _code_for(owner, supervisor, key="second")
    with pytest.raises(Refusal, match="wrong-enrolment-code"):
        _start(owner, first)


def test_nobody_issues_a_code_for_themselves_or_for_people_without_the_permission(
    owner: User, supervisor: User, make_person: Callable[..., User]
) -> None:
    with pytest.raises(Refusal, match="own-code"):
        _code_for(owner, owner)
    with pytest.raises(Refusal, match="not-eligible"):
        _code_for(make_person(roles=("staff",)), supervisor)
    with pytest.raises(Refusal, match="not-permitted"):
        _code_for(owner, make_person(roles=("staff",)))


def test_wrong_passwords_are_counted_and_lock(owner: User, supervisor: User) -> None:
    code = _code_for(owner, supervisor)
    said = []
    for n in range(4):
        with pytest.raises(Refusal) as caught:
            _start(owner, code, password="wrong", key=f"try-{n}")
        said.append(caught.value.code)
    assert said == ["wrong-password"] * 3 + ["locked"]
    assert EnrolmentCode.objects.get().used_at is None


def test_a_further_device_needs_a_code_from_the_first(owner: User, supervisor: User) -> None:
    first = make_device(owner)
    with pytest.raises(Refusal, match="wrong-code"):
        _start(owner, _code_for(owner, supervisor))
    assert _start(owner, fresh_code(first), key="again").device.state == "pending"


def test_an_old_enrolment_cannot_be_finished(owner: User, supervisor: User) -> None:
    started = _start(owner, _code_for(owner, supervisor))
    Device.objects.update(created_at=Now() - timedelta(minutes=16))
    with pytest.raises(Refusal, match="not-pending"):
        enrolling.activate(person=owner, device_id=started.device.pk, code=_code_of(started), key="activate")


def test_neither_secret_nor_password_nor_codes_are_stored_readable(owner: User, supervisor: User) -> None:
    proof = _code_for(owner, supervisor)
    started = _start(owner, proof)
    stored = str([*AuditEvent.objects.values(), *Receipt.objects.values(), *EnrolmentCode.objects.values()])
    assert started.secret not in stored and PASSWORD not in stored and proof not in stored
    assert started.secret not in started.device.sealed_secret
    assert sealing.unseal(started.device.sealed_secret) == started.secret


def test_a_lost_device_is_removed_by_two_people_who_are_not_its_owner(
    owner: User, supervisor: User, make_person: Callable[..., User]
) -> None:
    device = make_device(owner)

    def act(command: commands.Command, person: User) -> None:
        commands.dispatch(command, actor=Actor.person(person), key=f"{command.name}{person}", device_id=device.pk)

    for person, code in ((owner, "own-device"), (supervisor, "not-asked")):
        with pytest.raises(Refusal, match=code):
            act(removing.ask_removal if person == owner else removing.agree_removal, person)
    act(removing.ask_removal, supervisor)
    for person, code in ((supervisor, "same-person"), (owner, "own-device")):
        with pytest.raises(Refusal, match=code):
            act(removing.agree_removal, person)
    act(removing.agree_removal, make_person(roles=("finance",)))
    device.refresh_from_db()
    assert device.state == "removed"
    with pytest.raises(Refusal, match="no-device"):
        stepup.confirm(person=owner, code="000000", plan_id=1, digest="d" * 64)


def test_the_pages_show_the_secret_once_and_tell_the_owner(
    owner: User, supervisor: User, tenant: Tenant, client_for: Callable[..., Client]
) -> None:
    base = f"/t/{tenant.slug}/devices/"
    boss, client = client_for(supervisor, tenant), client_for(owner, tenant)
    issued = boss.post(f"{base}codes/", {"key": "k1", "person": owner.pk})
    code = re.search(r'class="secret">([A-Z2-7-]{19})<', issued.content.decode())
    assert issued.status_code == 200 and code and "no-store" in issued["Cache-Control"]
    wrong = client.post(f"{base}new/", {"key": "k2", "name": "Phone", "password": "no", "proof": code[1]})
    assert wrong.status_code == 422 and "The password is wrong" in wrong.content.decode()
    shown = client.post(f"{base}new/", {"key": "k3", "name": "Phone", "password": PASSWORD, "proof": code[1]})
    page = shown.content.decode()
    secret = sealing.unseal(Device.objects.get().sealed_secret)
    assert " ".join(secret[i : i + 4] for i in range(0, 32, 4)) in page
    assert 'src="data:image/svg+xml' in page and "no-store" in shown["Cache-Control"]
    address = f"{base}{Device.objects.get().pk}/activate/"
    failed = client.post(address, {"key": "k4", "code": "123"})
    assert failed.status_code == 422 and secret[:4] not in failed.content.decode()
    done = client.post(
        address, {"key": "k5", "code": codes.code_of(secret=secret, step=codes.step_at(spending.database_time()))}
    )
    assert done.status_code == 302 and done["Location"] == base
    listed = client.get(base).content.decode()
    assert "Phone" in listed and "a device was enrolled" in listed and "can confirm from" in listed


def test_the_pages_are_for_those_who_may_and_for_their_tenant(
    owner: User,
    supervisor: User,
    tenant: Tenant,
    other_tenant: Tenant,
    make_person: Callable[..., User],
    client_for: Callable[..., Client],
) -> None:
    base = f"/t/{tenant.slug}/devices/"
    assert client_for(make_person(roles=("analyst",)), tenant).get(base).status_code == 403
    assert client_for(supervisor, tenant).get(base).status_code == 200
    assert client_for(supervisor, tenant).get(f"{base}new/").status_code == 403
    stranger = make_person(roles=("finance",), tenant=other_tenant)
    assert client_for(stranger, other_tenant).get(base).status_code == 404
    with scope.open(other_tenant):
        foreign = make_device(stranger)
    boss = client_for(supervisor, tenant)
    boss.post(f"{base}{foreign.pk}/remove/", {"key": "k"})
    boss.post(f"{base}codes/", {"key": "k", "person": stranger.pk})
    with scope.open(other_tenant):
        assert Device.objects.get().state == "active" and not EnrolmentCode.objects.exists()


def test_a_missing_or_malformed_field_key_fails_the_check() -> None:
    for value, found in (("", "stepup.E001"), ("short", "stepup.E002")):
        with override_settings(FIELD_KEY=value):
            assert found in {message.id for message in run_checks()}
    assert not [message for message in run_checks() if str(message.id).startswith("stepup.")]
