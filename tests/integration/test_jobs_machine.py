"""Any order of submissions, claims, renewals, reports, ends, lapses, cancels and replays keeps the record's promises.

The model knows what each job must be after each act, and what each stale hand must be refused. The
database and the code that workers, the reconciler and the pages call are the real ones.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from backoffice import commands, jobs
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.jobs import continuing, reconciling, running, settling
from backoffice.jobs.errors import ContinuationRefused, SettlementRefused, StaleFence
from backoffice.jobs.keeping import Held, Keeper
from backoffice.jobs.models import Job, JobEvent, JobStep, Notice
from backoffice.jobs.running import Run
from backoffice.jobs.settling import Ground
from backoffice.jobs.states import EventName, JobState, StepState
from backoffice.tenants import scope
from tests import factories
from tests.probe_jobs.definitions import probes  # noqa: F401  (registers the probes)

KIND, MOST, JOBS = "probe.idle", 3, 3
STEPS = ("one", "two", "three")
WHICH = st.integers(0, JOBS - 1)
HAND = st.integers(0, 3)
END = st.sampled_from([JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
FINAL = {"succeeded", "failed", "cancelled"}


@dataclass
class Believed:
    """What the model believes of one job."""

    id: int
    state: str = "queued"
    fence: int = 0
    attempt: int = 0
    progress: int = 0
    live: bool = False
    cancelling: bool = False
    events: int = 1
    replayed: int | None = None
    steps: dict[str, str] = field(default_factory=lambda: dict.fromkeys(STEPS, "queued"))
    moves: set[int] = field(default_factory=set)
    last: dict[str, Any] | None = None

    @property
    def held(self) -> bool:
        return self.state == "running" and self.live

    def end(self, state: str) -> None:
        """End the job as the record must."""
        for name, step in self.steps.items():
            if step not in ("succeeded", "skipped"):
                self.steps[name] = "failed" if step == "running" and state == "failed" else "skipped"
        self.state, self.live, self.events = state, False, self.events + 1
        if state == "succeeded":
            self.progress = 100

    def give_back(self, *, charged: bool = True) -> None:
        """Queue the job again."""
        self.state, self.live, self.events = "queued", False, self.events + 1
        self.attempt -= 0 if charged else 1
        self.steps = {name: "queued" if step == "running" else step for name, step in self.steps.items()}

    def end_attempt(self) -> None:
        """End the attempt without success: cancelled, again, or failed."""
        if self.cancelling:
            self.end("cancelled")
        elif self.attempt < MOST:
            self.give_back()
        else:
            self.end("failed")


class Record(RuleBasedStateMachine):
    """Run acts against the database and the model side by side. A hand is a claim, the newest or an old one."""

    @initialize()
    def begin(self) -> None:
        self.opened = ExitStack()
        tenant = self.opened.enter_context(scope.open(factories.make_tenant()))
        self.person = factories.make_person(tenant=tenant, roles=("analyst",))
        self.keepers = [Keeper(f"worker {number}") for number in range(2)]
        self.keys = [uuid4().hex for _ in range(JOBS)]
        self.model: list[Believed | None] = [None] * JOBS
        self.hands: list[list[tuple[Held, Keeper]]] = [[] for _ in range(JOBS)]

    def teardown(self) -> None:
        for keeper in getattr(self, "keepers", []):
            keeper.close()
        if hasattr(self, "opened"):
            for table in ("job_notice", "job_event", "job_step", "job"):  # the reconciler looks at all there is
                self._sql(f"DELETE FROM {table}")
            self.opened.close()

    def _sql(self, text: str, *values: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(text, values)

    def _known(self, which: int) -> Believed | None:
        return self.model[which]

    def _hand(self, which: int, hand: int) -> tuple[Held, Keeper, bool] | None:
        """Take a claim of the job, an old one for a high number; say whether it must still hold it."""
        held = self.hands[which]
        believed = self.model[which]
        if not held or believed is None:
            return None
        claim, keeper = held[max(0, len(held) - 1 - max(0, hand - 1))]
        return claim, keeper, believed.held and claim.job.fence == believed.fence

    # ------------------------------------------------------------------ the acts

    @rule(which=WHICH, again=st.booleans())
    def submit(self, which: int, again: bool) -> None:
        believed = self.model[which]
        if believed is not None and believed.replayed and not again:
            return
        job = jobs.submit(kind=KIND, key=self.keys[which], requested_by=self.person)
        if believed is None:
            self.model[which] = Believed(job.pk)
            # Leases lapse when the test says so, not when the machine is slow.
            self._sql("UPDATE job SET lease = '1 hour', max_duration = '2 hours' WHERE id = %s", job.pk)
        else:
            assert job.pk == believed.id

    @rule(which=WHICH, worker=st.integers(0, 1))
    def claim(self, which: int, worker: int) -> None:
        believed = self._known(which)
        if believed is None:
            return
        held = self.keepers[worker].claim(job_id=believed.id, kinds=[KIND])
        assert (held is not None) == (believed.state == "queued")
        if held is not None:
            believed.state, believed.live = "running", True
            believed.fence, believed.attempt, believed.events = (
                believed.fence + 1,
                believed.attempt + 1,
                believed.events + 1,
            )
            assert (held.job.fence, held.job.attempt, dict(held.steps)) == (
                believed.fence,
                believed.attempt,
                believed.steps,
            )
            self.hands[which].append((held, self.keepers[worker]))

    @rule(which=WHICH)
    def claim_for_a_worker_that_does_not_know_the_kind(self, which: int) -> None:
        believed = self._known(which)
        if believed is not None:
            assert self.keepers[0].claim(job_id=believed.id, kinds=["another"]) is None

    @rule(which=WHICH, hand=HAND)
    def renew(self, which: int, hand: int) -> None:
        taken = self._hand(which, hand)
        if taken:
            held, keeper, holds = taken
            believed = self.model[which]
            assert believed is not None
            assert keeper.renew(held) is (believed.cancelling if holds else None)

    @rule(which=WHICH, hand=HAND)
    def guard(self, which: int, hand: int) -> None:
        taken = self._hand(which, hand)
        if taken:
            held, _keeper, holds = taken
            believed = self.model[which]
            assert believed is not None
            refused = False
            try:
                Run(job=held.job, steps=held.steps).guard()
            except StaleFence:
                refused = True
            assert refused == (not holds or believed.cancelling)

    @rule(
        which=WHICH,
        hand=HAND,
        step=st.sampled_from(STEPS),
        state=st.sampled_from([StepState.RUNNING, StepState.SUCCEEDED, StepState.SKIPPED]),
    )
    def report(self, which: int, hand: int, step: str, state: StepState) -> None:
        taken = self._hand(which, hand)
        if not taken:
            return
        held, _keeper, holds = taken
        believed = self.model[which]
        assert believed is not None
        right = holds and believed.steps[step] in ("queued", "running")
        told = running.report_step(job_id=believed.id, fence=held.job.fence, step=step, state=state)
        assert told is (believed.cancelling if right else None)
        if right:
            believed.steps[step] = str(state)
            believed.events += 1
            settled = sum(one in ("succeeded", "skipped") for one in believed.steps.values())
            believed.progress = max(believed.progress, round(100 * settled / len(STEPS)))

    @rule(which=WHICH, hand=HAND, state=END, ground=st.sampled_from(list(Ground)))
    def settle(self, which: int, hand: int, state: JobState, ground: Ground) -> None:
        taken = self._hand(which, hand)
        if not taken:
            return
        held, _keeper, _holds = taken
        believed = self.model[which]
        assert believed is not None
        current = believed.state == "running" and held.job.fence == believed.fence
        by_ground = {Ground.LIVE: believed.live, Ground.KEEPER: True, Ground.RECONCILER: not believed.live}
        allowed = current and by_ground[ground]
        refused = False
        try:
            settling.settle(job_id=believed.id, fence=held.job.fence, state=state, ground=ground, reason="Words.")
        except SettlementRefused:
            refused = True
        assert refused == (not allowed)
        if allowed:
            believed.end(str(state))

    @rule(which=WHICH, hand=HAND)
    def retry(self, which: int, hand: int) -> None:
        taken = self._hand(which, hand)
        if not taken:
            return
        held, _keeper, holds = taken
        believed = self.model[which]
        assert believed is not None
        left = settling.end_attempt(
            job_id=believed.id,
            fence=held.job.fence,
            event=EventName.RETRY,
            ground=Ground.LIVE,
            wait=timedelta(0),
            reason="Words.",
            code="unexpected",
            ref="0",
        )
        assert (left is not None) == holds
        if holds:
            believed.end_attempt()
            assert left == believed.state

    @rule(which=WHICH, hand=HAND, wrong=st.sampled_from(["", "", "source", "successor"]))
    def hand_over(self, which: int, hand: int, wrong: str) -> None:
        taken = self._hand(which, hand)
        if not taken:
            return
        held, _keeper, holds = taken
        believed = self.model[which]
        assert believed is not None
        fence = held.job.fence
        move = {"source": f"{believed.id}/{fence}", "successor": f"{believed.id}/{fence + 1}"}
        if wrong:
            move[wrong] = f"{believed.id}/{fence + 7}"
        fresh = not wrong and holds and not believed.cancelling
        accepted = fresh or (not wrong and fence in believed.moves)
        refused = False
        try:
            continuing.hand_over(job_id=believed.id, fence=fence, **move)
        except ContinuationRefused:
            refused = True
        assert refused == (not accepted)
        if fresh:
            believed.give_back(charged=False)
            believed.moves.add(fence)

    @rule(which=WHICH)
    def lapse(self, which: int) -> None:
        believed = self._known(which)
        if believed is not None and believed.held:
            self._sql("UPDATE job SET lease_until = clock_timestamp() - interval '1 second' WHERE id = %s", believed.id)
            believed.live = False

    @rule(copies=st.integers(1, 2))
    def reap(self, copies: int) -> None:
        lapsed = [one for one in self.model if one is not None and one.state == "running" and not one.live]
        assert [reconciling.end_overdue() for _turn in range(copies)] == [len(lapsed), 0][:copies]
        for one in lapsed:
            one.end_attempt()

    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        believed = self._known(which)
        if believed is None:
            return
        refused = False
        try:
            commands.dispatch(jobs.cancel, actor=Actor.person(self.person), key=uuid4().hex, job_id=believed.id)
        except Refusal:
            refused = True
        assert refused == (believed.state in FINAL)
        if believed.state == "queued":
            believed.end("cancelled")
        elif believed.state == "running" and not believed.cancelling:
            believed.cancelling, believed.events = True, believed.events + 1

    @rule(which=WHICH)
    def run_again(self, which: int) -> None:
        believed = self._known(which)
        if believed is None:
            return
        made = None
        with suppress(Refusal):
            made = commands.dispatch(
                jobs.retry, actor=Actor.person(self.person), key=uuid4().hex, job_id=believed.id
            ).data["job"]
        assert (made is not None) == (believed.state in ("failed", "cancelled"))
        if made is not None:
            assert believed.replayed in (None, made)
            believed.replayed = made

    # ------------------------------------------------------------------ what stays true

    @invariant()
    def the_record_is_what_the_model_believes(self) -> None:
        known = [one for one in getattr(self, "model", []) if one is not None]
        if not known:
            return
        ids = [one.id for one in known]
        rows = {row["id"]: row for row in Job.objects.filter(pk__in=ids).values()}
        steps: dict[int, dict[str, str]] = {pk: {} for pk in ids}
        for pk, name, state in JobStep.objects.filter(job_id__in=ids).values_list("job_id", "name", "state"):
            steps[pk][name] = state
        events: dict[int, list[tuple[int, str, int]]] = {pk: [] for pk in ids}
        written = JobEvent.objects.filter(job_id__in=ids).order_by("seq")
        for pk, *event in written.values_list("job_id", "seq", "name", "fence"):
            events[pk].append((event[0], event[1], event[2]))
        told = Counter(Notice.objects.filter(job_id__in=ids).values_list("job_id", flat=True))
        for one in known:
            row, final = rows[one.id], one.state in FINAL
            believed = (one.state, one.fence, one.attempt, one.progress, one.events)
            assert tuple(row[name] for name in ("state", "fence", "attempt", "progress", "event_no")) == believed
            assert (row["settled_at"] is not None) == final
            assert one.last is None or one.last == row
            one.last = row if final else None
            assert steps[one.id] == one.steps
            assert [seq for seq, _name, _fence in events[one.id]] == list(range(1, one.events + 1))
            claims = [fence for _seq, name, fence in events[one.id] if name == "claimed"]
            assert claims == list(range(1, one.fence + 1))
            assert [name for _seq, name, _fence in events[one.id] if name in FINAL] == [one.state] * final
            assert told[one.id] == final


@pytest.mark.timeout(240)
@pytest.mark.proves("record#01", "record#04", "record#05", "record#12", "jobs#restrict-completion-by-fencing-value")
def test_no_order_of_acts_breaks_the_record(database: None) -> None:
    run_state_machine_as_test(
        Record,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
