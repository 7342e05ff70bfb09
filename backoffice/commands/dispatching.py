"""The only way in: actor, transaction, receipt, guard, body, audit, commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import OperationalError, connection, transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from backoffice import sql
from backoffice.audit import recording
from backoffice.audit.models import AuditEvent
from backoffice.commands.actors import Actor
from backoffice.commands.models import Receipt
from backoffice.commands.registering import Command, Outcome
from backoffice.errors import KeyReused, NotPermitted, Refusal, SubmissionConflict
from backoffice.tenants import scope

ATTEMPTS = 3
_REPEATABLE = {"40001", "40P01"}  # serialization_failure, deadlock_detected

_TAKE_RECEIPT = """
INSERT INTO commands_receipt (tenant_id, command, key, actor, fingerprint)
VALUES (%(tenant)s, %(command)s, %(key)s, %(actor)s, %(fingerprint)s)
ON CONFLICT (tenant_id, command, key) DO NOTHING
RETURNING id
"""

_KEEP_AND_AUDIT = """
WITH kept AS (UPDATE commands_receipt SET outcome = %(stored)s::jsonb WHERE id = %(receipt)s)
INSERT INTO audit_auditevent (tenant_id, actor, actor_user_id, acting_for, act, outcome, code, target, data)
VALUES (%(tenant)s, %(actor)s, %(actor_user)s, %(acting_for)s, %(act)s, %(outcome)s, '', %(target)s, %(data)s::jsonb)
"""


def dispatch(
    command: Command,
    *,
    actor: Actor,
    key: str,
    guard: Callable[[], None] | None = None,
    **arguments: Any,
) -> Outcome:
    """Run the command once under its key, in the open tenant and one durable transaction.

    `guard` runs first inside the transaction and raises to stop it (a job's fence). Raises Refusal
    after auditing it; the same key with the same actor and arguments returns the stored outcome.
    """
    _check_arguments(key, arguments)
    try:
        _check_permission(command, actor)
        return _with_repeats(command, actor, key, guard, arguments)
    except Refusal as refusal:
        _audit_refusal(command, actor, arguments, refusal)
        raise


def _with_repeats(
    command: Command, actor: Actor, key: str, guard: Callable[[], None] | None, arguments: dict[str, Any]
) -> Outcome:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic(durable=True):
                return _once(command, actor, key, guard, arguments)
        except SubmissionConflict:
            if attempt == ATTEMPTS:
                raise
        except OperationalError as error:
            if attempt == ATTEMPTS or getattr(error.__cause__, "sqlstate", None) not in _REPEATABLE:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _once(
    command: Command, actor: Actor, key: str, guard: Callable[[], None] | None, arguments: dict[str, Any]
) -> Outcome:
    fingerprint = _fingerprint(command, arguments)
    receipt_id = _take_receipt(command, actor, key, fingerprint)
    if receipt_id is None:
        return _replay(command, actor, key, fingerprint)
    if guard is not None:
        guard()
    outcome = command.body(actor=actor, **arguments)
    if command.unaudited:
        _keep_outcome(receipt_id, outcome)
    else:
        _keep_and_audit(receipt_id, command, actor, arguments, outcome)
    return outcome


def _take_receipt(command: Command, actor: Actor, key: str, fingerprint: str) -> int | None:
    values = {
        "tenant": scope.current().pk,
        "command": command.name,
        "key": key,
        "actor": actor.identity,
        "fingerprint": fingerprint,
    }
    taken = sql.prepared(_TAKE_RECEIPT, values)
    return taken[0][0] if taken else None


def _keep_outcome(receipt_id: int, outcome: Outcome) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE commands_receipt SET outcome = %s::jsonb WHERE id = %s", [_stored(outcome), receipt_id])


def _keep_and_audit(
    receipt_id: int, command: Command, actor: Actor, arguments: dict[str, Any], outcome: Outcome
) -> None:
    """Keep the outcome and write its event in one statement: every command pays for this round trip."""
    data = json.dumps({"arguments": _public(command, arguments), "result": outcome.data}, cls=DjangoJSONEncoder)
    values = {
        "stored": _stored(outcome),
        "receipt": receipt_id,
        "tenant": scope.current().pk,
        "actor": actor.name[:200],
        "actor_user": actor.user.pk if actor.user else None,
        "acting_for": actor.acting_for[:200],
        "act": command.name,
        "outcome": AuditEvent.Outcome.DONE.value,
        "target": outcome.target,
        "data": data,
    }
    sql.prepared(_KEEP_AND_AUDIT, values)


def _stored(outcome: Outcome) -> str:
    return json.dumps({"target": outcome.target, "data": outcome.data}, cls=DjangoJSONEncoder)


def _replay(command: Command, actor: Actor, key: str, fingerprint: str) -> Outcome:
    receipt = Receipt.objects.get(command=command.name, key=key)
    if (receipt.actor, receipt.fingerprint) != (actor.identity, fingerprint):
        raise KeyReused("key-reused", _("This request was already used for something else. Reload the page."))
    return Outcome(target=receipt.outcome["target"], data=receipt.outcome["data"], replayed=True)


def _check_permission(command: Command, actor: Actor) -> None:
    if actor.user is None:
        allowed = actor.system_name in command.systems
    else:
        allowed = command.permission is not None and actor.user.has_perm(command.permission)
    if not allowed:
        raise NotPermitted("not-permitted", _("You may not do this."))


def _check_arguments(key: str, arguments: dict[str, Any]) -> None:
    if not key or len(key) > 200 or "\x00" in key:
        raise Refusal("bad-key", _("The request came without a usable key. Reload the page and try again."))
    for value in arguments.values():
        if isinstance(value, str) and not _storable(value):
            raise Refusal("bad-text", _("The text holds a character that cannot be stored."))


def _storable(text: str) -> bool:
    """Say whether PostgreSQL can hold the text: no NUL, no lone surrogate."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _fingerprint(command: Command, arguments: dict[str, Any]) -> str:
    """Hash the arguments; secret ones are keyed first, so that a stored hash cannot be guessed back to them."""
    hidden = {
        name: salted_hmac("commands.secret", repr(arguments[name]), algorithm="sha256").hexdigest()
        for name in command.secret & arguments.keys()
    }
    canonical = json.dumps({**arguments, **hidden}, cls=DjangoJSONEncoder, sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _public(command: Command, arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in command.secret}


def _audit_refusal(command: Command, actor: Actor, arguments: dict[str, Any], refusal: Refusal) -> None:
    with transaction.atomic(durable=True):
        recording.record(
            actor=actor.name,
            actor_user_id=actor.user.pk if actor.user else None,
            acting_for=actor.acting_for,
            act=command.name,
            outcome=AuditEvent.Outcome.REFUSED,
            code=refusal.code,
            target=command.target_of(arguments),
            data={"arguments": _public(command, arguments)},
        )
