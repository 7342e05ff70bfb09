"""The working calendar: who changes it and how, what is refused, and that every due time follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client

from backoffice import commands
from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs import running
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from queues import calendars, changing_calendar, due_times, queues, working_time
from queues.models import Holiday, Payout, WorkingCalendar
from tests.making_files import claim
from tests.making_items import make_payouts

PAGE = "/t/acme/calendar/"
OFFICE = [[[540, 1020]]] * 5 + [[], []]
MONDAY = datetime(2026, 11, 30, 10, tzinfo=UTC)


@pytest.fixture
def boss(make_person: Callable[..., User]) -> User:
    return make_person(roles=("supervisor",))


@pytest.fixture
def client(boss: User, client_for: Callable[..., Client]) -> Client:
    return client_for(boss)


def dispatch(person: User, change: commands.Command, **arguments: Any) -> dict[str, Any]:
    return commands.dispatch(change, actor=Actor.person(person), key=uuid4().hex, **arguments).data


def set_hours(person: User, week: Any, version: int = 0) -> dict[str, Any]:
    return dispatch(person, changing_calendar.set_hours, hours_by_day=week, version=version)


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(Refusal) as refusal:
        act()
    return refusal.value.code


def work_off() -> list[str]:
    """Run the jobs that bring the due times up to date."""
    states = []
    for job in Job.objects.filter(kind=changing_calendar.REWORK, state="queued").order_by("id"):
        running.work(claim(job, kinds=[changing_calendar.REWORK]))
        job.refresh_from_db()
        states.append(job.state)
    return states


def post(client: Client, path: str = PAGE, **fields: Any) -> Any:
    return client.post(path, {"key": uuid4().hex, **fields})


def days(*texts: str) -> dict[str, str]:
    return {f"day-{number}": text for number, text in enumerate(texts)}


def test_a_new_tenant_works_at_once_from_monday_to_friday(other_tenant: Tenant) -> None:
    Tenant.objects.filter(pk=other_tenant.pk).update(time_zone="Asia/Kathmandu")
    other_tenant.refresh_from_db()
    with scope.open(other_tenant):
        assert calendars.current() == working_time.weekdays("Asia/Kathmandu")
        assert calendars.kept().version == 0


def test_a_changed_calendar_moves_every_due_time_in_the_background(tenant: Tenant, boss: User) -> None:
    items = make_payouts(tenant=tenant, count=3, opened_at=MONDAY)
    with transaction.atomic():
        due_times.keep(queues.get("payouts"), first=items[0].pk, last=items[-1].pk)
    dues = Payout.objects.order_by("pk").values_list("due_at", flat=True)
    assert list(dues) == [MONDAY + timedelta(days=2)] * 3
    set_hours(boss, [[[0, 1440]]] * 7)
    assert list(dues.all()) == [MONDAY + timedelta(days=2)] * 3
    assert work_off() == ["succeeded"]
    assert list(dues.all()) == [MONDAY + timedelta(hours=16)] * 3
    dispatch(boss, changing_calendar.add_holiday, day="2026-11-30", name="St Andrew's Day")
    assert work_off() == ["succeeded"]
    assert list(dues.all()) == [datetime(2026, 12, 1, 16, tzinfo=UTC)] * 3
    dispatch(boss, changing_calendar.remove_holiday, day="2026-11-30")
    assert work_off() == ["succeeded"]
    assert list(dues.all()) == [MONDAY + timedelta(hours=16)] * 3
    assert AuditEvent.objects.filter(act="queue.due-times", acting_for__startswith="job:").exists()


def test_a_calendar_without_any_working_day_left_gives_no_due_time_and_no_loop(tenant: Tenant, boss: User) -> None:
    item = make_payouts(tenant=tenant, count=1, opened_at=MONDAY)[0]
    WorkingCalendar.objects.create(tenant=tenant, hours=[[]] * 7)
    with transaction.atomic():
        due_times.keep_one(queues.get("payouts"), item.pk)
    item.refresh_from_db()
    assert (item.due_at, item.due_reason) == (None, "")


@pytest.mark.parametrize(
    ("week", "code"),
    [
        ([[]] * 7, "empty-week"),
        (OFFICE[:6], "bad-hours"),
        ([[[540, 1020], [1000, 1100]], *OFFICE[1:]], "bad-hours"),
        ([[[1020, 540]], *OFFICE[1:]], "bad-hours"),
        ([[[540, 540]], *OFFICE[1:]], "bad-hours"),
        ([[[-1, 540]], *OFFICE[1:]], "bad-hours"),
        ([[[540, 1441]], *OFFICE[1:]], "bad-hours"),
        ([[[540]], *OFFICE[1:]], "bad-hours"),
        ([[[540.5, 1020]], *OFFICE[1:]], "bad-hours"),
        ([[["540", "1020"]], *OFFICE[1:]], "bad-hours"),
        ([[[True, 1020]], *OFFICE[1:]], "bad-hours"),
        ([[[m, m + 1] for m in range(0, 40, 2)], *OFFICE[1:]], "bad-hours"),
    ],
)
def test_hours_that_cannot_be_kept_are_refused(tenant: Tenant, boss: User, week: Any, code: str) -> None:
    assert refused(lambda: set_hours(boss, week)) == code
    assert not WorkingCalendar.objects.exists()
    assert not Job.objects.exists()


def test_ranges_are_kept_in_order_and_those_that_touch_as_one(tenant: Tenant, boss: User) -> None:
    set_hours(boss, [[[780, 1020], [540, 720], [720, 750]], *OFFICE[1:]])
    assert WorkingCalendar.objects.get().hours[0] == [[540, 750], [780, 1020]]


def test_a_change_over_one_that_was_not_seen_is_refused(tenant: Tenant, boss: User) -> None:
    assert set_hours(boss, OFFICE)["version"] == 2
    assert refused(lambda: set_hours(boss, OFFICE, version=0)) == "changed"
    assert set_hours(boss, OFFICE, version=2)["version"] == 3


@pytest.mark.parametrize("day", ["", "2026-02-30", "1999-12-31", "2101-01-01", "tomorrow", "9" * 40])
def test_a_day_that_is_none_is_refused(tenant: Tenant, boss: User, day: str) -> None:
    assert refused(lambda: dispatch(boss, changing_calendar.add_holiday, day=day, name="A")) == "bad-day"


def test_a_holiday_has_a_name_and_is_entered_once(tenant: Tenant, boss: User) -> None:
    assert refused(lambda: dispatch(boss, changing_calendar.add_holiday, day="2026-12-25", name="  ")) == "bad-name"
    dispatch(boss, changing_calendar.add_holiday, day="2026-12-25", name=" Christmas  Day ")
    assert Holiday.objects.get().name == "Christmas Day"
    assert refused(lambda: dispatch(boss, changing_calendar.add_holiday, day="2026-12-25", name="Again")) == "taken"
    dispatch(boss, changing_calendar.remove_holiday, day="2026-12-25")
    assert refused(lambda: dispatch(boss, changing_calendar.remove_holiday, day="2026-12-25")) == "gone"


def test_only_a_supervisor_changes_the_calendar_and_each_change_is_audited(
    tenant: Tenant, boss: User, make_person: Callable[..., User], client_for: Callable[..., Client]
) -> None:
    for role in ("staff", "finance", "analyst", "auditor"):
        person = make_person(roles=(role,))
        assert client_for(person).get(PAGE).status_code == 403
        with pytest.raises(NotPermitted):
            set_hours(person, OFFICE)
    set_hours(boss, OFFICE)
    event = AuditEvent.objects.get(act="calendar.set-hours", outcome="done")
    assert event.actor_user_id == boss.pk
    assert event.data["result"]["hours"] == OFFICE


def test_a_calendar_is_its_tenant_s_own(
    tenant: Tenant, other_tenant: Tenant, boss: User, client_for: Callable[..., Client]
) -> None:
    dispatch(boss, changing_calendar.add_holiday, day="2026-12-25", name="Christmas")
    with scope.open(other_tenant):
        assert calendars.kept().holidays == []
    assert client_for(boss).get("/t/globex/calendar/").status_code == 404


# ------------------------------------------------------------------ the page


def test_the_page_sets_the_hours_and_says_by_which_clock(tenant: Tenant, client: Client) -> None:
    shown = client.get(PAGE).content.decode()
    assert shown.count('value="9:00–17:00"') == 5
    assert "by the clock of UTC" in shown
    hours = days("9:00-12:30, 13:30–17:00", "9-17", "9-17", "9-17", "9-17", "10-14", "")
    assert post(client, version=0, **hours).status_code == 303
    assert WorkingCalendar.objects.get().hours == [[[540, 750], [810, 1020]], *OFFICE[1:5], [[600, 840]], []]
    shown = client.get(PAGE).content.decode()
    assert 'value="9:00–12:30, 13:30–17:00"' in shown


def test_what_is_refused_keeps_what_was_typed_and_says_where(tenant: Tenant, client: Client) -> None:
    response = post(client, version=0, **days("9-12, 11-17", "<b>9</b>", "9-17"))
    shown = response.content.decode()
    assert response.status_code == 409
    assert 'value="9-12, 11-17"' in shown
    assert "11:00–17:00 overlaps the hours before it." in shown
    assert "&lt;b&gt;9&lt;/b&gt;" in shown
    assert shown.count('aria-invalid="true"') == 2
    empty = post(client, version=0, **days("", "", "", "", "", "", ""))
    assert "A week needs working hours" in empty.content.decode()
    assert post(client, version="x" * 50, **days("9-17")).status_code == 409
    assert not WorkingCalendar.objects.exists()


def test_the_page_enters_and_removes_holidays(tenant: Tenant, client: Client) -> None:
    coming = date.today() + timedelta(days=30)
    day = {"day": coming.isoformat()}
    assert post(client, f"{PAGE}holidays/add/", name="Founders' <day>", **day).status_code == 303
    shown = client.get(PAGE).content.decode()
    assert "Founders&#x27; &lt;day&gt;" in shown
    again = post(client, f"{PAGE}holidays/add/", name="Another", **day)
    assert again.status_code == 409
    assert "This day is a holiday already." in again.content.decode()
    assert 'value="Another"' in again.content.decode()
    assert post(client, f"{PAGE}holidays/remove/", **day).status_code == 303
    assert not Holiday.objects.exists()


def test_a_zone_that_the_zone_data_does_not_hold_is_said_to_be_utc(tenant: Tenant, client: Client) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(time_zone="Mars/Olympus_Mons")
    tenant.refresh_from_db()
    with scope.open(tenant):
        assert calendars.current().zone == "UTC"
