"""What an ended job changed and did not, in words, counted from the rows that hold its effects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backoffice import jobs
from backoffice.jobs import noticing, settling
from backoffice.jobs.base import kinds
from backoffice.jobs.models import Job
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import JobState
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User
from exports.models import ExportRequest
from queues.money import confirming
from queues.money.models import PlanLine
from reports.models import ReportRequest
from tests.making_money import make_payouts, make_plan
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)

Make = Callable[..., User]
State = PlanLine.State


def _settle(job: Job, state: JobState) -> Job:
    settling.settle(job_id=job.pk, fence=0, state=state, ground=Ground.KEEPER, reason="No.", was=JobState(job.state))
    return Job.objects.get(pk=job.pk)


def _words(person: User) -> list[str]:
    return noticing.page(person=person, before=0, size=50)[0].words


@pytest.fixture
def finance(make_person: Make) -> User:
    return make_person(roles=("finance",))


def _plan(person: User, states: list[State]) -> Job:
    """Make a plan whose run ends with its lines in these states."""
    plan = make_plan(person, make_payouts(len(states), "100.50"))
    job = jobs.submit(kind=confirming.JOB_KIND, key=f"p{plan.pk}", arguments={"plan_id": plan.pk}, requested_by=person)
    for line, state in zip(PlanLine.objects.filter(plan=plan).order_by("position"), states, strict=True):
        settled = None if state in (State.PLANNED, State.SENDING, State.UNKNOWN) else plan.requested_at
        PlanLine.objects.filter(pk=line.pk).update(state=state, settled_at=settled)
    return job


def test_a_release_that_failed_says_how_much_money_had_moved(tenant: Tenant, finance: User) -> None:
    job = _plan(finance, [State.DONE] * 3 + [State.REFUSED, State.UNKNOWN] + [State.NOT_STARTED] * 2)
    _settle(job, JobState.FAILED)
    reason, means, outcome = _words(finance)
    assert (reason, means) == ("No.", str(kinds.get(confirming.JOB_KIND).failure.words))  # type: ignore[union-attr]  # a Consequence
    assert outcome == (
        "3 of 7 payouts released: EUR 301.50. 1 refused. 2 not released: no money moved for them. "
        "1 unclear: the rail gave no answer. Look before you plan them again."
    )


def test_a_release_that_was_cancelled_before_it_began_says_that_no_money_moved(tenant: Tenant, finance: User) -> None:
    job = _plan(finance, [State.PLANNED] * 2)
    _settle(job, JobState.CANCELLED)
    assert _words(finance) == [
        "It was cancelled.",
        "0 of 2 payouts released. 2 not released: no money moved for them.",
    ]


@pytest.mark.parametrize(("model", "kind"), [(ExportRequest, "export.run"), (ReportRequest, "report.run")])
def test_a_file_that_was_not_written_changed_no_data(
    tenant: Tenant, make_person: Make, model: type[ExportRequest], kind: str
) -> None:
    person = make_person(roles=("analyst",))
    request = model.objects.create(tenant=tenant, definition="x", encoding="utf-8", requested_by=person)
    job = jobs.submit(kind=kind, key="a", arguments={"request_id": request.pk}, requested_by=person)
    model.objects.filter(pk=request.pk).update(job=job)
    _settle(job, JobState.FAILED)
    assert _words(person)[2] == "No file was published; no data was changed."


def test_effects_that_are_gone_and_kinds_that_are_gone_leave_what_the_job_published(
    tenant: Tenant, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = make_person(roles=("analyst",))
    job = jobs.submit(kind=confirming.JOB_KIND, key="a", arguments={"plan_id": 10**15}, requested_by=person)
    _settle(job, JobState.FAILED)
    assert _words(person)[2] == "None of its steps was done."
    monkeypatch.delitem(kinds._by_name, confirming.JOB_KIND)
    assert _words(person)[2] == "None of its steps was done."


def test_the_words_of_one_tenants_plan_are_read_for_it_alone(
    tenant: Tenant, other_tenant: Tenant, finance: User
) -> None:
    job = _plan(finance, [State.DONE])
    _settle(job, JobState.FAILED)
    with scope.open(other_tenant):
        assert kinds.get(confirming.JOB_KIND).changed([job]) == {}
    assert kinds.get(confirming.JOB_KIND).changed([job]) == {job.pk: "1 of 1 payouts released: EUR 100.50."}
