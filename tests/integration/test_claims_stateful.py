"""Any order of claims, renewals, hands, snoozes, decisions and lapses keeps the promises of a claim.

The model knows who should hold what. Each of four people acts on a connection of their own, with the
current token or an old one; some steps are two claims of one item at once, whose winner the database finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from backoffice.audit.models import AuditEvent
from backoffice.commands import Actor
from backoffice.errors import Refusal
from backoffice.tenants import scope
from queues import acting, claiming, clocks, handing, queues, setting_aside, undoing
from queues.models import ItemSkip, Payout
from tests import factories
from tests.integration.test_claiming import lapse, make_payout

PEOPLE, ITEMS, CAP = 4, 7, 5
WHO = st.integers(0, PEOPLE - 1)
WHICH = st.integers(0, ITEMS - 1)
HOLDING = {"item.claim", "item.claim-next", "item.hand-over", "item.move"}
# What each act that happened does to the token, and who holds the item after it.
ENDING = {"item.release", "item.skip", "item.snooze", "payout.approve", "item.free"}


@dataclass
class Held:
    """What the model believes of one item."""

    holder: int | None = None
    token: int = 0
    live: bool = False
    state: str = "pending"
    tokens: set[int] = field(default_factory=set)


class Claims(RuleBasedStateMachine):
    """Run acts against the database and the model side by side."""

    @initialize()
    def begin(self) -> None:
        self.opened = ExitStack()
        tenant = self.opened.enter_context(scope.open(factories.make_tenant()))
        self.hands = [ThreadPoolExecutor(1) for _ in range(PEOPLE)]
        self.people = [factories.make_person(tenant=tenant, roles=("supervisor",)) for _ in range(PEOPLE)]
        self.numbers = {person.pk: number for number, person in enumerate(self.people)}
        self.items = [make_payout(tenant, score=90 - number) for number in range(ITEMS)]
        self.places = {item.pk: number for number, item in enumerate(self.items)}
        self.model = [Held() for _ in self.items]
        self.happened: Counter[str] = Counter()

    # ------------------------------------------------------------------ the acts

    @rule(who=WHO, which=WHICH)
    def claim(self, who: int, which: int) -> None:
        held = self.model[which]
        data = self._try(who, lambda: self._claim(who, which))
        free = held.state == "pending" and (not held.live or held.holder == who)
        mine = held.live and held.holder == who
        assert (data is not None) == (free and (mine or self._count(who, besides=which) < CAP))
        if data:
            self.happened["item.claim"] += 1
            self._taken(which, who, data["token"], fresh=not mine)

    @rule(who=WHO)
    def claim_next(self, who: int) -> None:
        data = self._try(who, lambda: claiming.claim_next(actor=self._actor(who), queue="payouts", key=uuid4().hex))
        if data is None:
            takeable = [n for n, held in enumerate(self.model) if held.state == "pending" and not held.live]
            asleep = set(Payout.objects.filter(snoozed_until__isnull=False).values_list("pk", flat=True))
            skipped = set(ItemSkip.objects.filter(person=self.people[who]).values_list("item", flat=True))
            left = [n for n in takeable if self.items[n].pk not in asleep | skipped]
            assert not left or self._count(who) >= CAP
            return
        which = self.places[data["item_id"]]
        assert not self.model[which].live and self.model[which].state == "pending"
        self.happened["item.claim-next"] += 1
        self._taken(which, who, data["token"], fresh=True)

    @rule(who=WHO, which=WHICH, back=st.integers(0, 2))
    def renew(self, who: int, which: int, back: int) -> None:
        token = self._token(which, back)
        data = self._try(who, lambda: claiming.renew(**self._on(who, which), token=token))
        assert (data is not None) == self._stands(who, which, token)

    @rule(who=WHO, which=WHICH, back=st.integers(0, 2), how=st.sampled_from(["release", "skip", "snooze", "approve"]))
    def end(self, who: int, which: int, back: int, how: str) -> None:
        held, token = self.model[which], self._token(which, back)
        data = self._try(who, lambda: self._ended(who, which, token, how))
        stands = self._stands(who, which, token)
        if how in {"release", "skip"}:  # a lapsed hold that nobody took over may be given back
            stands = held.holder == who and held.token == token and held.state == "pending"
        assert (data is not None) == stands
        if data is not None:
            self.happened["payout.approve" if how == "approve" else f"item.{how}"] += 1
            self._note_lapse(held)
            held.holder, held.live = None, False
            held.state = "approved" if how == "approve" else held.state

    @rule(who=WHO, which=WHICH, to=WHO, back=st.integers(0, 2))
    def hand_over(self, who: int, which: int, to: int, back: int) -> None:
        token = self._token(which, back)
        data = self._try(
            who, lambda: handing.hand_over(**self._on(who, which), token=token, to=self.people[to].pk, note="yours")
        )
        right = who != to and self._stands(who, which, token) and self._count(to, besides=which) < CAP
        assert (data is not None) == right
        if data:
            self.happened["item.hand-over"] += 1
            self._taken(which, to, data["token"], fresh=True)

    @rule(who=WHO, which=WHICH, to=WHO, back=st.integers(0, 1))
    def move(self, who: int, which: int, to: int, back: int) -> None:
        held, token = self.model[which], self._token(which, back)
        receiver = self.people[to].pk
        data = self._try(who, lambda: handing.move(**self._on(who, which), token=token, to=receiver, reason="ill"))
        right = held.state == "pending" and token == held.token and self._count(to, besides=which) < CAP
        assert (data is not None) == right
        if data:
            self.happened["item.move"] += 1
            self._taken(which, to, data["token"], fresh=True)

    @rule(which=WHICH)
    def let_lapse(self, which: int) -> None:
        if self.model[which].live:
            lapse(self.items[which])
            self.model[which].live = False

    @rule(who=WHO, which=WHICH)
    def undo(self, who: int, which: int) -> None:
        held = self.model[which]
        room = self._count(who) < CAP
        data = self._try(who, lambda: undoing.undo(**self._on(who, which)))
        if data is None:
            return
        assert held.state == "approved" and data["held"] == room
        self.happened["item.undo"] += 1
        held.state = "pending"
        if room:
            self._taken(which, who, held.token + 1, fresh=True)

    @rule(which=WHICH, pair=st.lists(WHO, min_size=2, max_size=2, unique=True))
    def two_at_once(self, which: int, pair: list[int]) -> None:
        """Let two people claim one item at the same moment: at most one of them gets it."""
        won: list[tuple[int, int]] = []
        held = self.model[which]
        before = [held.live and held.holder == who for who in pair]
        room = [self._count(who, besides=which) < CAP for who in pair]
        free = held.state == "pending" and (not held.live or any(before))

        at_once = [self.hands[who].submit(copy_context().run, self._claim, who, which) for who in pair]
        for who, claimed in zip(pair, at_once, strict=True):
            with suppress(Refusal):
                won.append((who, claimed.result().data["token"]))
        assert len(won) <= 1
        if free and not any(before):
            assert bool(won) == any(room)
        for who, token in won:
            self.happened["item.claim"] += 1
            self._taken(which, who, token, fresh=not (held.live and held.holder == who))

    # ------------------------------------------------------------------ the promises

    @invariant()
    def the_database_agrees(self) -> None:
        if not hasattr(self, "items"):
            return
        now = clocks.database_now()
        for item in Payout.objects.filter(pk__in=list(self.places)):
            held = self.model[self.places[item.pk]]
            assert item.state == held.state and item.claim_token == held.token
            assert item.held_at(now) == held.live
            if held.live:
                assert self.numbers[item.claim_holder_id or 0] == held.holder
        assert all(self._count(who) <= CAP for who in range(PEOPLE))

    def teardown(self) -> None:
        if not hasattr(self, "items"):
            return
        with self.opened:
            self._check_history()
            for hand in self.hands:
                hand.submit(lambda: connection.close()).result()  # by name: the thread's own
                hand.shutdown()

    def _check_history(self) -> None:
        targets = [item.target for item in self.items]
        told = AuditEvent.objects.filter(target__in=targets, outcome="done").values_list("act", flat=True)
        assert Counter(told) == self.happened
        for number, item in enumerate(self.items):
            self._replays(number, item)

    def _replays(self, number: int, item: Payout) -> None:
        """Read who holds the item from its history alone."""
        holder: int | None = None
        for event in AuditEvent.objects.filter(target=item.target, outcome="done").order_by("id"):
            if event.act in HOLDING:
                holder = event.data["result"].get("to", event.actor_user_id)
            elif event.act == "item.undo":
                holder = event.actor_user_id if event.data["result"]["held"] else None
            elif event.act in ENDING:
                holder = None
        held = self.model[number]
        assert (holder is None) == (held.holder is None)
        assert holder is None or self.numbers[holder] == held.holder

    # ------------------------------------------------------------------ how

    def _actor(self, who: int) -> Actor:
        return Actor.person(self.people[who])

    def _on(self, who: int, which: int) -> dict[str, Any]:
        return {
            "actor": self._actor(who),
            "queue": "payouts",
            "item_id": self.items[which].pk,
            "key": uuid4().hex,
        }

    def _claim(self, who: int, which: int) -> Any:
        return claiming.claim(**self._on(who, which))

    def _ended(self, who: int, which: int, token: int, how: str) -> Any:
        on = self._on(who, which)
        if how == "release":
            return claiming.release(**on, token=token)
        if how == "skip":
            return setting_aside.skip(**on, token=token)
        if how == "snooze":
            later = clocks.database_now() + timedelta(hours=1)
            return setting_aside.snooze(**on, token=token, version=None, until=later, reason="later")
        on.pop("queue")
        return acting.act(**on, action=queues.get("payouts").action("approve"), token=token, version=None, reason="")

    def _try(self, who: int, act: Callable[[], Any]) -> dict[str, Any] | None:
        """Act by the person's own connection; nothing where it is refused."""
        try:
            return dict(self.hands[who].submit(copy_context().run, act).result().data)
        except Refusal:
            return None

    def _token(self, which: int, back: int) -> int:
        return max(0, self.model[which].token - back)

    def _stands(self, who: int, which: int, token: int) -> bool:
        held = self.model[which]
        return held.state == "pending" and held.live and held.holder == who and held.token == token

    def _count(self, who: int, *, besides: int | None = None) -> int:
        return sum(held.live and held.holder == who for n, held in enumerate(self.model) if n != besides)

    def _note_lapse(self, held: Held) -> None:
        """Count a hold that had lapsed and now ends: its history says so once, whoever ends it."""
        if held.holder is not None and not held.live:
            self.happened["item.expire"] += 1

    def _taken(self, which: int, who: int, token: int, *, fresh: bool) -> None:
        held = self.model[which]
        assert token == held.token + (1 if fresh else 0) and (not fresh or token not in held.tokens)
        self._note_lapse(held)
        held.holder, held.token, held.live = who, token, True
        held.tokens.add(token)


@pytest.mark.usefixtures("database")
def test_no_order_of_acts_breaks_the_promises_of_a_claim() -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        Claims,
        settings=settings(
            max_examples=10, stateful_step_count=30, deadline=None, suppress_health_check=checks, database=None
        ),
    )
