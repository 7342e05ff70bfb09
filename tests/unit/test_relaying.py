"""What a work-horse reports close together reaches the record as one statement, each with its answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError

from backoffice.jobs.relaying import Batch, Relay
from backoffice.jobs.running import step_values
from backoffice.jobs.statements import MOVES, Rows
from backoffice.jobs.states import StepState


def _move(step: str, state: StepState) -> dict[str, Any]:
    return step_values(job_id=1, fence=1, step=step, state=state)


def test_short_steps_and_their_settlement_are_one_statement() -> None:
    relay, heard, ran = Relay(), [], []

    def execute_all(batch: Batch) -> list[Rows]:
        ran.extend(batch)
        return [[(False,)] for _one in batch]

    for step in ("one", "two"):
        relay.post("report_steps", _move(step, StepState.RUNNING), heard.append, hurry=True)
        relay.post("report_steps", _move(step, StepState.SUCCEEDED), heard.append, hurry=False)
    relay._unsent.append(("settle", {"id": 1, "fence": 1, **{moves: [] for moves in MOVES}}))
    relay._send(waits=True)
    assert relay.serve(execute_all)
    relay._heed_all()
    assert relay._answer() == [(False,)]
    assert heard == [[(False,)]] * 4
    [(name, values)] = ran
    assert (name, values["steps"]) == ("settle", ["one", "one", "two", "two"])
    assert values["states"] == ["running", "succeeded", "running", "succeeded"]


def test_a_report_that_nothing_follows_is_sent_when_its_answer_is_wanted() -> None:
    relay, heard = Relay(), []
    relay.post("report_steps", _move("one", StepState.SUCCEEDED), heard.append, hurry=False)
    assert not relay.parent.poll(0)
    relay._send(waits=True)
    relay.serve(lambda batch: [[(True,)] for _one in batch])
    relay.settle(wait=False)
    assert heard == [[(True,)]]


def test_an_outage_is_told_for_each_report() -> None:
    relay = Relay()
    relay.post("report_steps", _move("one", StepState.RUNNING), lambda rows: None, hurry=True)
    relay._reply([None])
    with pytest.raises(OperationalError):
        relay.settle(wait=False)
