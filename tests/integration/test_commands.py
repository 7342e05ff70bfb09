"""A command happens once under its key, for those who may, and leaves its audit event."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

import pytest
from django.db import connection, transaction

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor, Outcome, registering
from backoffice.commands.models import Receipt
from backoffice.errors import KeyReused, NotPermitted, Refusal, SubmissionConflict
from backoffice.livesettings.changing import change_setting
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User

runs: list[str] = []


@pytest.fixture(autouse=True)
def _forget_runs() -> None:
    runs.clear()


@pytest.fixture
def probe() -> Iterator[commands.Command]:
    @commands.command("test.probe", permission="queues.work_payout", systems=("test",), secret=("password",))
    def body(*, actor: Actor, note: str, password: str = "", fail: str = "") -> Outcome:
        runs.append(note)
        if fail == "refusal":
            raise Refusal("test-refusal", "Not today.")
        if fail == "conflict" and len(runs) < 3:
            raise SubmissionConflict
        if fail == "bug":
            raise RuntimeError("boom")
        return Outcome(target="probe:1", data={"note": note})

    yield body
    registering._commands.pop("test.probe")


def test_a_repeat_under_one_key_returns_the_first_outcome(
    probe: commands.Command, make_person: Callable[..., User]
) -> None:
    actor = Actor.person(make_person())
    first = commands.dispatch(probe, actor=actor, key="k", note="a")
    again = commands.dispatch(probe, actor=actor, key="k", note="a")
    assert (first.data, first.replayed) == ({"note": "a"}, False)
    assert (again.data, again.replayed) == ({"note": "a"}, True)
    assert runs == ["a"]
    assert AuditEvent.objects.filter(act="test.probe").count() == 1


def test_a_key_with_other_arguments_or_another_actor_is_refused(
    probe: commands.Command, make_person: Callable[..., User]
) -> None:
    actor = Actor.person(make_person())
    commands.dispatch(probe, actor=actor, key="k", note="a")
    with pytest.raises(KeyReused):
        commands.dispatch(probe, actor=actor, key="k", note="b")
    with pytest.raises(KeyReused):
        commands.dispatch(probe, actor=Actor.person(make_person()), key="k", note="a")
    assert runs == ["a"]


def test_keys_of_two_tenants_do_not_meet(
    probe: commands.Command, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    commands.dispatch(probe, actor=Actor.system("test", acting_for="a test"), key="k", note="a")
    with scope.open(other_tenant):
        commands.dispatch(probe, actor=Actor.system("test", acting_for="a test"), key="k", note="b")
    assert runs == ["a", "b"]


def test_two_at_once_under_one_key_have_one_effect(probe: commands.Command, make_person: Callable[..., User]) -> None:
    actor = Actor.person(make_person())
    outcomes: list[Outcome] = []

    def go() -> None:
        outcomes.append(commands.dispatch(probe, actor=actor, key="k", note="a"))
        connection.close()

    threads = [threading.Thread(target=copy_context().run, args=(go,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 1
    assert sorted(outcome.replayed for outcome in outcomes) == [False] + [True] * 7


def test_a_refusal_leaves_no_receipt_and_one_audit_event(
    probe: commands.Command, make_person: Callable[..., User]
) -> None:
    actor = Actor.person(make_person())
    with pytest.raises(Refusal, match="Not today"):
        commands.dispatch(probe, actor=actor, key="k", note="a", fail="refusal")
    event = AuditEvent.objects.get(act="test.probe")
    assert (event.outcome, event.code) == ("refused", "test-refusal")
    assert not Receipt.objects.exists()


def test_who_may_not_is_refused_and_audited(probe: commands.Command, make_person: Callable[..., User]) -> None:
    for actor in (Actor.person(make_person(roles=("analyst",))), Actor.system("cron", acting_for="nothing")):
        with pytest.raises(NotPermitted):
            commands.dispatch(probe, actor=actor, key="k", note="a")
    assert runs == []
    assert AuditEvent.objects.filter(act="test.probe", code="not-permitted").count() == 2


def test_secrets_reach_neither_audit_nor_receipt(probe: commands.Command, make_person: Callable[..., User]) -> None:
    commands.dispatch(probe, actor=Actor.person(make_person()), key="k", note="a", password="CANARY-31")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT string_agg(e::text, '') FROM audit_auditevent e), "
            "(SELECT string_agg(r::text, '') FROM commands_receipt r)"
        )
        assert "CANARY-31" not in "".join(cursor.fetchone())


def test_a_lost_submission_race_repeats_the_transaction(
    probe: commands.Command, make_person: Callable[..., User]
) -> None:
    commands.dispatch(probe, actor=Actor.person(make_person()), key="k", note="a", fail="conflict")
    assert len(runs) == 3


def test_a_bug_rolls_everything_back(probe: commands.Command, make_person: Callable[..., User]) -> None:
    with pytest.raises(RuntimeError, match="boom"):
        commands.dispatch(probe, actor=Actor.person(make_person()), key="k", note="a", fail="bug")
    assert not Receipt.objects.exists()
    assert not AuditEvent.objects.exists()


def test_a_guard_stops_the_body(probe: commands.Command, make_person: Callable[..., User]) -> None:
    def guard() -> None:
        raise RuntimeError("stale")

    with pytest.raises(RuntimeError, match="stale"):
        commands.dispatch(probe, actor=Actor.person(make_person()), key="k", guard=guard, note="a")
    assert runs == []


def test_no_dispatch_inside_a_transaction(probe: commands.Command, make_person: Callable[..., User]) -> None:
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        commands.dispatch(probe, actor=Actor.person(make_person()), key="k", note="a")


def test_a_command_is_not_called_directly(probe: commands.Command, tenant: Tenant) -> None:
    with pytest.raises(TypeError, match="dispatch"):
        probe(actor=Actor.system("test", acting_for="a test"), note="a")


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b"])
def test_a_key_that_cannot_be_stored_is_a_refusal(
    key: str, probe: commands.Command, make_person: Callable[..., User]
) -> None:
    with pytest.raises(Refusal, match="bad-key"):
        commands.dispatch(probe, actor=Actor.person(make_person()), key=key, note="a")


@pytest.mark.parametrize("note", ["a\x00b", "\ud800"])
def test_text_that_cannot_be_stored_is_a_refusal(
    note: str, probe: commands.Command, make_person: Callable[..., User]
) -> None:
    with pytest.raises(Refusal, match="bad-text"):
        commands.dispatch(probe, actor=Actor.person(make_person()), key="k", note=note)


def test_an_unknown_setting_is_a_refusal(tenant: Tenant) -> None:
    with pytest.raises(Refusal, match="unknown-setting"):
        commands.dispatch(
            change_setting, actor=Actor.system("shell", acting_for="a test"), key="k", name="nope", value=1
        )
