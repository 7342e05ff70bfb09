"""Enrol a device: another person's enrolment code (or a code of the first device), the password, then a first code.

The secret is made outside the commands and handed to them as a secret argument: it is sealed in the
row and appears on one page, once. A wrong password or code is an outcome, so that its count stays.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from backoffice import clock, commands, livesettings
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.stepup import codes, confirming, notifying, sealing, spending, throttling
from backoffice.stepup.models import Device, EnrolmentCode
from backoffice.stepup.spending import Verdict
from backoffice.tenants import scope
from backoffice.tenants.models import Membership, User

PENDING_LIFE = timedelta(minutes=15)


@dataclass(frozen=True)
class Started:
    """What the enrolment page shows once."""

    device: Device
    secret: str
    uri: str


def issue_code(*, actor: Actor, person_id: int, key: str) -> str:
    """Return a new enrolment code for another person; only its hash is stored."""
    raw = base64.b32encode(secrets.token_bytes(10)).decode()
    code = "-".join(raw[i : i + 4] for i in range(0, 16, 4))
    commands.dispatch(issue_enrolment_code, actor=actor, key=key, person_id=person_id, code_hash=_hash(code))
    return code


def start(*, person: User, name: str, password: str, proof: str, key: str) -> Started:
    """Begin enrolling: check password and proof, store a pending device, and return its secret for one page."""
    secret = codes.new_secret()
    outcome = commands.dispatch(
        start_device, actor=Actor.person(person), key=key, name=name, password=password, proof=proof, secret=secret
    )
    if not outcome.data["accepted"]:
        raise confirming.refusal(person=person, data=outcome.data)
    device = Device.objects.get(pk=outcome.data["device_id"])
    uri = codes.enrolment_uri(secret=secret, issuer=f"Backoffice ({scope.current().name})", account=person.email)
    return Started(device=device, secret=secret, uri=uri)


def activate(*, person: User, device_id: int, code: str, key: str) -> Device:
    """Finish enrolling with the new device's first code."""
    outcome = commands.dispatch(activate_device, actor=Actor.person(person), key=key, device_id=device_id, code=code)
    if not outcome.data["accepted"]:
        raise confirming.refusal(person=person, data=outcome.data)
    return Device.objects.get(pk=device_id)


def eligible_people(*, besides: User) -> list[User]:
    """Return the other members whose roles let them own a device."""
    members = Membership.objects.filter(active=True).select_related("user").exclude(user=besides)
    return [m.user for m in members.order_by("user__email") if m.user.has_perm("stepup.own_device")]


@command("device.issue-code", permission="stepup.issue_code", secret=("code_hash",))
def issue_enrolment_code(*, actor: Actor, person_id: int, code_hash: str) -> Outcome:
    """Store the hash of a code with which the person may enrol a first device; earlier codes end."""
    issuer = actor.user
    assert issuer is not None  # the command names no system
    if person_id == issuer.pk:
        raise Refusal("own-code", _("Another person issues your enrolment code."))
    if person_id not in {person.pk for person in eligible_people(besides=issuer)}:
        raise Refusal("not-eligible", _("This person's roles do not include confirming with codes."))
    person = User.objects.get(pk=person_id)
    EnrolmentCode.objects.filter(person=person, used_at=None).update(expires_at=Now())
    EnrolmentCode.objects.create(
        tenant=scope.current(),
        person=person,
        issued_by=issuer,
        code_hash=code_hash,
        expires_at=Now() + timedelta(hours=livesettings.get("stepup.enrolment_code_hours")),
    )
    notifying.notify_owner(
        person=person,
        subject=_("An enrolment code was issued for you"),
        text=_("%s issued a code with which you can enrol a device. If you did not ask for it, tell them.") % issuer,
    )
    return Outcome(target=f"person:{person.pk}", data={"for": person.email})


@command("device.start", permission="stepup.own_device", secret=("password", "proof", "secret"))
def start_device(*, actor: Actor, name: str, password: str, proof: str, secret: str) -> Outcome:
    """Store a pending device when password and proof are right: a first device's code, or an enrolment code."""
    person = confirming.person_of(actor)
    target = f"person:{person.pk}"
    name = " ".join(name.split())[:60]
    if not name:
        raise Refusal("name-missing", _("Give the device a name, so that you can tell it from another."))
    reserved = throttling.reserve(person=person, purpose=throttling.ENROLMENT)
    verdict = _judge_proof(person, proof) if person.check_password(password) else Verdict("wrong-password")
    if verdict.code:
        return Outcome(target=target, data=confirming.failed(verdict=verdict, reserved=reserved))
    throttling.clear(person=person, purpose=throttling.ENROLMENT)
    device = Device.objects.create(tenant=scope.current(), person=person, name=name, sealed_secret=sealing.seal(secret))
    notifying.notify_owner(
        person=person,
        subject=_("A new device is being enrolled"),
        text=_("The device %s is being enrolled for your codes. If this is not you, tell your supervisor now.") % name,
    )
    return Outcome(target=target, data={"accepted": True, "device_id": device.pk, "name": name})


@command("device.activate", permission="stepup.own_device", secret=("code",))
def activate_device(*, actor: Actor, device_id: int, code: str) -> Outcome:
    """Accept the pending device's first code; it can confirm after the wait."""
    person = confirming.person_of(actor)
    device = (
        Device.objects.select_for_update()
        .filter(pk=device_id, person=person, state=Device.State.PENDING, created_at__gt=Now() - PENDING_LIFE)
        .first()
    )
    if device is None:
        raise Refusal("not-pending", _("This enrolment is over. Start again."))
    reserved = throttling.reserve(person=person, purpose=throttling.ENROLMENT)
    wait = timedelta(hours=livesettings.get("stepup.device_wait_hours"))
    usable_at = clock.now() + wait
    device.usable_at = usable_at
    verdict = spending.spend(devices=[device], code=code)
    if verdict.code in ("wrong-code", "code-used"):
        return Outcome(target=f"person:{person.pk}", data=confirming.failed(verdict=verdict, reserved=reserved))
    throttling.clear(person=person, purpose=throttling.ENROLMENT)
    Device.objects.filter(pk=device.pk).update(state=Device.State.ACTIVE, usable_at=usable_at)
    notifying.notify_owner(
        person=person,
        subject=_("A device was enrolled"),
        text=_("The device %s now gives your codes. If this is not you, tell your supervisor now.") % device.name,
    )
    data = {"accepted": True, "device_id": device.pk, "name": device.name, "usable_at": usable_at.isoformat()}
    return Outcome(target=f"person:{person.pk}", data=data)


def _judge_proof(person: User, proof: str) -> Verdict:
    """Spend the proof: a code when the person has a device already, else an enrolment code."""
    devices = spending.active_devices(person)
    if devices:
        return spending.spend(devices=devices, code=proof)
    codes_left = EnrolmentCode.objects.filter(person=person, used_at=None, expires_at__gt=Now())
    used = codes_left.filter(code_hash=_hash(proof)).update(used_at=Now())
    return Verdict("" if used else "wrong-enrolment-code")


def _hash(code: str) -> str:
    """Hash an enrolment code: 80 random bits need no slow hash."""
    return hashlib.sha256(codes.canonical(code).encode("utf-8", "surrogatepass")).hexdigest()
