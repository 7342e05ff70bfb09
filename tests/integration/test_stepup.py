"""A code is judged once, counted whatever comes, and bound to one person, plan and digest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from backoffice import stepup
from backoffice.audit.models import AuditEvent
from backoffice.commands.models import Receipt
from backoffice.errors import Refusal
from backoffice.stepup import codes, sealing, spending
from backoffice.stepup.models import Device, StepUp, Throttle
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from tests.making_codes import forget_codes, fresh_code, make_device, wrong_code

DIGEST = "d" * 64


@pytest.fixture
def person(make_person: Callable[..., User]) -> User:
    return make_person(roles=("finance",))


def _refused(person: User, code: str, *, plan_id: int = 1, digest: str = DIGEST) -> Refusal:
    with pytest.raises(Refusal) as caught:
        stepup.confirm(person=person, code=code, plan_id=plan_id, digest=digest)
    return caught.value


def _let_time_pass(person: User) -> None:
    Throttle.objects.filter(person=person).update(next_allowed_at=Now())


@pytest.mark.proves("jobs#confirm-bulk-money-actions-out-of-band")
def test_a_right_code_gives_a_step_up_for_this_person_plan_and_digest(person: User) -> None:
    device = make_device(person)
    made = stepup.confirm(person=person, code=fresh_code(device), plan_id=7, digest=DIGEST)
    assert (made.person, made.device, made.plan_id, made.digest, made.consumed_at) == (person, device, 7, DIGEST, None)
    event = AuditEvent.objects.get(act="stepup.verify")
    assert event.data["result"]["accepted"] is True and "code" not in event.data["arguments"]


@pytest.mark.case("TP-01")
def test_a_code_is_spent_once_whatever_plan_and_session_it_comes_with(person: User) -> None:
    device = make_device(person)
    code = fresh_code(device)
    stepup.confirm(person=person, code=code, plan_id=1, digest=DIGEST)
    connection.close()  # what a restart of the server leaves: the database
    assert _refused(person, code).code == "code-used"
    assert _refused(person, code, plan_id=2, digest="e" * 64).code == "code-used"
    assert StepUp.objects.count() == 1


def test_codes_of_three_neighbouring_steps_each_count_once(person: User) -> None:
    device = make_device(person)
    step = codes.step_at(spending.database_time())
    secret = sealing.unseal(device.sealed_secret)
    for n in (-1, 0, 1):
        stepup.confirm(person=person, code=codes.code_of(secret=secret, step=step + n), plan_id=1, digest=DIGEST)
    assert _refused(person, codes.code_of(secret=secret, step=step)).code == "code-used"


def test_two_sessions_with_one_code_at_one_moment_give_one_step_up(person: User) -> None:
    code = fresh_code(make_device(person))
    barrier, said = threading.Barrier(2), []

    def session() -> None:
        barrier.wait()
        try:
            stepup.confirm(person=User.objects.get(pk=person.pk), code=code, plan_id=1, digest=DIGEST)
            said.append("accepted")
        except Refusal as refusal:
            said.append(refusal.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=copy_context().run, args=(session,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["accepted", "code-used"]
    assert StepUp.objects.count() == 1


def test_the_same_form_sent_twice_gives_the_same_step_up(person: User) -> None:
    code = fresh_code(make_device(person))
    first = stepup.confirm(person=person, code=code, plan_id=1, digest=DIGEST, key="form")
    assert stepup.confirm(person=person, code=code, plan_id=1, digest=DIGEST, key="form") == first


def test_a_failure_is_counted_although_everything_after_it_rolls_back(person: User) -> None:
    device = make_device(person)
    refusal = _refused(person, wrong_code(device))
    assert refusal.code == "wrong-code"
    assert "4 tries are left" in str(refusal.message)
    assert Throttle.objects.get(person=person).failures == 1
    event = AuditEvent.objects.get(act="stepup.verify")
    assert (event.data["result"]["accepted"], event.data["result"]["code"]) == (False, "wrong-code")


def test_confirming_inside_a_transaction_is_a_mistake_of_the_caller(person: User) -> None:
    device = make_device(person)
    with pytest.raises(RuntimeError), transaction.atomic():
        stepup.confirm(person=person, code=fresh_code(device), plan_id=1, digest=DIGEST)


def test_five_wrong_codes_lock_for_a_stated_time_and_the_lock_ends_by_itself(person: User) -> None:
    device = make_device(person)
    for failures in range(1, 6):
        assert _refused(person, wrong_code(device)).code == "wrong-code"
        throttle = Throttle.objects.get(person=person)
        assert throttle.failures == failures
        if failures < 5:
            _let_time_pass(person)
    waits = throttle.next_allowed_at.timestamp() - spending.database_time()
    assert 14 * 60 < waits <= 15 * 60
    locked = _refused(person, fresh_code(device))
    assert locked.code == "locked"
    assert throttle.next_allowed_at.strftime("%H:%M:%S") in str(locked.message)
    _let_time_pass(person)
    stepup.confirm(person=person, code=fresh_code(device), plan_id=1, digest=DIGEST)
    assert Throttle.objects.get(person=person).failures == 0


def test_the_wait_grows_with_each_failure_up_to_a_day(person: User) -> None:
    device, waits = make_device(person), []
    for _ in range(14):
        _refused(person, wrong_code(device))
        waits.append(Throttle.objects.get(person=person).next_allowed_at.timestamp() - spending.database_time())
        _let_time_pass(person)
    rounded = [max(round(w), 0) for w in waits]
    assert rounded[:7] == [0, 0, 5, 10, 900, 1800, 3600]
    assert rounded[-1] == 86_400


def test_parallel_guesses_count_one_by_one(person: User) -> None:
    device = make_device(person)
    guess, said = wrong_code(device), []

    def session() -> None:
        said.append(_refused(User.objects.get(pk=person.pk), guess).code)
        connection.close()

    threads = [threading.Thread(target=copy_context().run, args=(session,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said.count("wrong-code") == 3  # the third costs a wait
    assert said.count("locked") == 5


def test_a_new_device_cannot_confirm_before_its_wait_is_over(person: User) -> None:
    device = make_device(person, wait=timedelta(hours=24))
    code = fresh_code(device)
    assert _refused(person, code).code == "too-new"
    Device.objects.update(usable_at=Now())
    assert _refused(person, code).code == "code-used"


def test_a_person_without_a_device_is_refused_and_no_try_is_counted(person: User) -> None:
    assert _refused(person, "123456").code == "no-device"
    assert not Throttle.objects.exists()


@pytest.mark.parametrize("typed", ["", "12345", "１２３４５６", "12 34 56", "'; --", "9" * 5000])
def test_whatever_is_typed_is_refused_in_words(person: User, typed: str) -> None:
    make_device(person)
    assert _refused(person, typed).code == "wrong-code"


def test_a_step_up_is_consumed_once_and_only_for_what_it_confirms(
    person: User, make_person: Callable[..., User]
) -> None:
    made = stepup.confirm(person=person, code=fresh_code(make_device(person)), plan_id=1, digest=DIGEST)
    wrong: list[dict[str, object]] = [
        {"plan_id": 2},
        {"digest": "e" * 64},
        {"person": make_person(roles=("finance",))},
        {"step_up_id": made.pk + 1},
    ]
    right = {"step_up_id": made.pk, "plan_id": 1, "digest": DIGEST, "person": person}
    for change in wrong:
        with pytest.raises(Refusal, match="step-up-missing"):
            stepup.consume(**{**right, **change})  # type: ignore[arg-type]  # the changes are of the right types
    stepup.consume(**right)  # type: ignore[arg-type]  # the same
    with pytest.raises(Refusal, match="step-up-missing"):
        stepup.consume(**right)  # type: ignore[arg-type]  # the same


def test_an_old_step_up_is_refused(person: User) -> None:
    made = stepup.confirm(person=person, code=fresh_code(make_device(person)), plan_id=1, digest=DIGEST)
    StepUp.objects.update(created_at=Now() - timedelta(minutes=3))
    with pytest.raises(Refusal, match="step-up-missing"):
        stepup.consume(step_up_id=made.pk, plan_id=1, digest=DIGEST, person=person)


def test_a_device_of_one_tenant_gives_no_codes_in_another(
    person: User, other_tenant: Tenant, make_person: Callable[..., User]
) -> None:
    device = make_device(person)
    with scope.open(other_tenant):
        assert _refused(person, fresh_code_of(device)).code == "not-permitted"


def test_nothing_secret_is_stored_readable(person: User) -> None:
    device = make_device(person)
    secret, code = sealing.unseal(device.sealed_secret), fresh_code(device)
    stepup.confirm(person=person, code=code, plan_id=1, digest=DIGEST)
    assert secret not in device.sealed_secret
    stored = str(list(AuditEvent.objects.values())) + str(list(Receipt.objects.values()))
    assert secret not in stored and f"'{code}'" not in stored and f'"{code}"' not in stored


def test_demo_codes_exist_in_demo_tenants_only(person: User, tenant: Tenant) -> None:
    with pytest.raises(Refusal, match="not-a-demo"):
        stepup.enrol_demo(person)
    with pytest.raises(Refusal, match="not-a-demo"):
        stepup.current_code(person)
    Tenant.objects.filter(pk=tenant.pk).update(demo=True)
    with scope.open(Tenant.objects.get(pk=tenant.pk)):
        assert stepup.enrol_demo(person) == stepup.enrol_demo(person)
        for _ in range(2):
            stepup.confirm(person=person, code=stepup.current_code(person), plan_id=1, digest=DIGEST)
        forget_codes(Device.objects.get())


def fresh_code_of(device: Device) -> str:
    """Return this step's code without asking for the row, which another tenant cannot see."""
    step = codes.step_at(spending.database_time())
    return codes.code_of(secret=sealing.unseal(device.sealed_secret), step=step)


def test_a_nul_inside_a_right_code_makes_it_a_wrong_one(person: User) -> None:
    code = fresh_code(make_device(person))
    assert _refused(person, f"{code[:3]}\x00{code[3:]}").code == "wrong-code"
