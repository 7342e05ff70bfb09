"""Which clock an item is due by, and what a queue is told about clocks that are declared wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import Q

from backoffice.errors import Refusal
from queues import Within, due_rules, hours, queues, rules, working_time
from queues.due_rules import Due, Instants
from queues.working_time import Calendar

ALWAYS = Calendar("UTC", (((0, 1440),),) * 7)
CLOCKS = (
    Within("first response", hours=4, after="opened_at", until="first_answered_at"),
    Within("update", hours=1, after="owed_since", paused=Q(waiting_since__isnull=False)),
)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 30, hour, minute, tzinfo=UTC)


def test_a_clock_that_has_not_started_never_counts() -> None:
    read = [Instants(at(10)), Instants(None)]
    assert due_rules.due(CLOCKS, ALWAYS, read) == Due(at(14), "first response")


def test_a_clock_that_has_stopped_gives_way_to_the_one_that_runs() -> None:
    read = [Instants(at(10), stopped=at(11)), Instants(at(11))]
    assert due_rules.due(CLOCKS, ALWAYS, read) == Due(at(12), "update")


def test_a_clock_that_pauses_gives_no_due_time() -> None:
    read = [Instants(at(10), stopped=at(10, 5)), Instants(at(10, 5), paused=True)]
    assert due_rules.due(CLOCKS, ALWAYS, read) == Due()


def test_the_first_of_several_clocks_to_run_out_is_the_due_time_and_a_tie_goes_to_the_first_declared() -> None:
    assert due_rules.due(CLOCKS, ALWAYS, [Instants(at(10)), Instants(at(13))]) == Due(at(14), "first response")
    assert due_rules.due(CLOCKS, ALWAYS, [Instants(at(10)), Instants(at(12))]) == Due(at(13), "update")


def test_what_a_clock_has_waited_does_not_count() -> None:
    waits = [(at(11), at(12)), (at(11, 30), at(13)), (at(9), at(9, 30))]
    read = [Instants(at(10), waits=waits), Instants(None)]
    assert due_rules.due(CLOCKS, ALWAYS, read) == Due(at(16), "first response")


def test_no_working_time_means_no_due_time() -> None:
    assert due_rules.due(CLOCKS, Calendar("UTC", ((),) * 7), [Instants(at(10)), Instants(at(10))]) == Due()


def problems(**changes: Any) -> dict[str, str]:
    declared = type(queues.get("disputes"))
    queue = type("Disputes", (declared,), changes)()
    return {message.id: message.msg for message in (*queue._check_due(), *queue._check_due_fields())}


def test_the_built_in_clocks_are_right() -> None:
    assert problems() == {}
    for queue in queues:
        assert queue.due, f"{queue.name} has no due times"
        assert {message.id for message in queue.check()} == set()


def test_two_clocks_of_one_name_are_an_error() -> None:
    found = problems(due=(Within("answer", hours=1), Within("answer", hours=2)))
    assert found == {"queues.E017": "Two clocks of the queue's due times have one name."}


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        (Within("", hours=1), "Clock '': its name has 1 to 60 characters."),
        (Within("a", hours=0), "Clock 'a': hours must be a number above 0."),
        (Within("a", hours=-1), "Clock 'a': hours must be a number above 0."),
        (Within("a", hours=float("nan")), "Clock 'a': hours must be a number above 0."),
        (Within("a", hours=True), "Clock 'a': hours must be a number above 0."),
        (Within("a", hours=9_000), "Clock 'a': hours must be a year at most."),
        (Within("a", hours=1, until="opened_at"), "Clock 'a': it starts and stops at the same instant."),
        (Within("a", hours=1, waits="waits"), "Clock 'a': waits are kept but nothing pauses it."),
    ],
)  # fmt: skip
def test_a_clock_that_cannot_run_is_an_error(clock: Within, words: str) -> None:
    assert problems(due=(clock,)) == {"queues.E018": words}


def test_a_clock_over_what_holds_no_instant_is_an_error() -> None:
    assert problems(due=(Within("a", hours=1, until="customer"),)) == {
        "queues.E019": "Clock 'a': 'customer' holds no instant."
    }
    kept = Within("a", hours=1, waits="customer", paused=Q(waiting_since__isnull=False))
    assert problems(due=(kept,)) == {"queues.E019": "Clock 'a': 'customer' holds no pairs of instants."}


def test_a_clock_over_a_field_that_is_not_there_is_an_error() -> None:
    queue = type("Disputes", (type(queues.get("disputes")),), {"due": (Within("a", hours=1, until="nowhere"),)})()
    assert "The model has no field 'nowhere'." in [message.msg for message in queue.check()]
    paused = Within("a", hours=1, paused=Q(asleep=True))
    queue = type("Disputes", (type(queues.get("disputes")),), {"due": (paused,)})()
    assert "queues.E007" in [message.id for message in queue.check()]


def test_the_definition_says_its_clocks() -> None:
    described = queues.get("payouts").describe()["due"]
    assert described == [
        {"name": "check", "working_hours": 16, "after": "opened_at", "until": "the decision", "paused": ""}
    ]


def test_the_rule_says_when_age_does_not_count() -> None:
    age = next(one for one in rules.get("dispute.urgency-score").inputs if one.name == "age")
    assert age.rule_words() == (
        "0 to 40 points, rising evenly up to 10 days old; its age does not count while it waits for the customer"
    )
    assert age.fields == ("opened_at", "waiting_since")


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("", []),
        ("9:00–17:00", [(540, 1020)]),
        ("13:30 - 17, 9-12:30", [(540, 750), (810, 1020)]),
        ("9-12,12-17", [(540, 1020)]),
        ("0:00–24:00", [(0, 1440)]),
    ],
)
def test_hours_are_read_as_people_write_them_and_written_so_that_they_read_back(
    text: str, ranges: list[tuple[int, int]]
) -> None:
    assert hours.parse(text) == ranges
    assert hours.parse(hours.write(ranges)) == ranges


@pytest.mark.parametrize(
    "text",
    ["9", "nine to five", "17-9", "9-9", "9:60-17", "9-24:01", "9-25", "9-12, 11-17", "9-17, 10-11", "-1-5", "٩-١٧",
     "9–17; DROP TABLE", ", ".join(f"{h}:00-{h}:30" for h in range(9))],
)  # fmt: skip
def test_hours_that_are_none_are_refused_in_words(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        hours.parse(text)
    assert refused.value.code == "bad-hours"


def test_the_usual_week_is_monday_to_friday_nine_to_five() -> None:
    usual = working_time.weekdays("UTC")
    assert [hours.write(day) for day in usual.hours] == ["9:00–17:00"] * 5 + [""] * 2
    assert working_time.between(usual, at(0), at(0) + timedelta(days=7)) == timedelta(hours=40)
