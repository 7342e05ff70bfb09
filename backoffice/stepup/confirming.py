"""Turn a code into a StepUp, and consume it.

`confirm` commits whatever comes. Its command therefore returns a wrong code as an outcome, where a
refusal would roll the count back, and `confirm` refuses after the commit.
"""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from backoffice import commands
from backoffice.commands import Actor, Outcome, command
from backoffice.errors import Refusal
from backoffice.stepup import spending, throttling
from backoffice.stepup.models import StepUp
from backoffice.stepup.spending import Verdict
from backoffice.tenants import scope
from backoffice.tenants.models import User

_CONSUME = """
UPDATE stepup_stepup SET consumed_at = clock_timestamp()
 WHERE id = %s AND tenant_id = %s AND person_id = %s AND plan_id = %s AND digest = %s
   AND consumed_at IS NULL AND created_at > clock_timestamp() - interval '2 minutes'
"""


def confirm(*, person: User, code: str, plan_id: int, digest: str, key: str = "") -> StepUp:
    """Spend the code for this plan and digest, or refuse: wrong-code, code-used, locked, no-device, too-new.

    One try is counted and committed whatever comes; outside a transaction only. The same `key` again
    (a form sent twice) gives the same answer.
    """
    outcome = commands.dispatch(
        verify,
        actor=Actor.person(person),
        key=key or uuid4().hex,
        code=code[:64].replace("\x00", "?"),  # taking it out would make a right code of a wrong one
        plan_id=plan_id,
        digest=digest,
    )
    if not outcome.data["accepted"]:
        raise refusal(person=person, data=outcome.data)
    return StepUp.objects.get(pk=outcome.data["step_up_id"])


def consume(*, step_up_id: int, plan_id: int, digest: str, person: User) -> None:
    """Use the StepUp up, in the caller's transaction; refuse one that is another's, spent or older than 2 minutes."""
    with connection.cursor() as cursor:
        cursor.execute(_CONSUME, [step_up_id, scope.current().pk, person.pk, plan_id, digest])
        consumed = cursor.rowcount
    if consumed != 1:
        raise Refusal("step-up-missing", _("The code does not belong to this plan as it is now. Enter a new code."))


@command("stepup.verify", permission="stepup.own_device", secret=("code",))
def verify(*, actor: Actor, code: str, plan_id: int, digest: str) -> Outcome:
    """Judge one code; what is counted and spent here stays, so a wrong code is an outcome, no refusal."""
    person = person_of(actor)
    devices = spending.active_devices(person)
    if not devices:
        raise Refusal("no-device", _("You have no device for codes yet. Enrol one under Codes."))
    reserved = throttling.reserve(person=person, purpose=throttling.CODE)
    verdict = spending.spend(devices=devices, code=code)
    target = f"person:{person.pk}"
    if verdict.code != "":
        if verdict.code == "too-new":  # the code was right
            throttling.clear(person=person, purpose=throttling.CODE)
        return Outcome(target=target, data=failed(verdict=verdict, reserved=reserved))
    throttling.clear(person=person, purpose=throttling.CODE)
    assert verdict.device is not None  # a right code has its device
    made = StepUp.objects.create(
        tenant=scope.current(),
        person=person,
        device=verdict.device,
        plan_id=plan_id,
        digest=digest,
        step=verdict.step,
    )
    return Outcome(target=target, data={"accepted": True, "step_up_id": made.pk, "device_id": verdict.device.pk})


def refusal(*, person: User, data: dict[str, object]) -> Refusal:
    """Put the outcome of a judged code into words."""
    code = str(data["code"])
    if code == "too-new":
        usable_at = datetime.fromisoformat(str(data["usable_at"]))
        return Refusal(
            code, _("This device is new: it can confirm from %s on.") % usable_at.strftime("%Y-%m-%d %H:%M %Z")
        )
    said = {
        "wrong-code": _("The code is wrong."),
        "code-used": _("This code was already used. Wait for the next one."),
        "wrong-password": _("The password is wrong."),
        "wrong-enrolment-code": _("The enrolment code is wrong, used or expired."),
    }[code]
    return Refusal(code, f"{said} {_what_is_left(person, data)}")


def _what_is_left(person: User, data: dict[str, object]) -> str:
    left = int(str(data["left"]))
    if not left:
        return throttling.locked_words(person=person, until=datetime.fromisoformat(str(data["next_allowed_at"])))
    wait = int(str(data["wait"]))
    tries = ngettext("%(left)d try is left.", "%(left)d tries are left.", left) % {"left": left}
    pause = ngettext("Wait %(wait)d second.", "Wait %(wait)d seconds.", wait) % {"wait": wait} if wait else ""
    return f"{tries} {pause}".strip()


def failed(*, verdict: Verdict, reserved: throttling.Try) -> dict[str, object]:
    """Return the outcome of a try that does not count, JSON-safe: `refusal` puts it into words."""
    device = verdict.device
    return {
        "accepted": False,
        "code": verdict.code,
        "failures": reserved.failures,
        "left": reserved.left,
        "wait": max(round(reserved.next_allowed_at.timestamp() - spending.database_time()), 0),
        "next_allowed_at": reserved.next_allowed_at.isoformat(),
        "usable_at": device.usable_at.isoformat() if device and device.usable_at else "",
    }


def person_of(actor: Actor) -> User:
    """Return the person behind the actor."""
    assert actor.user is not None  # the command names no system, so only a person gets here
    return actor.user
