"""Cron expressions that other libraries' tests agree on, and our stated choice where they do not."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from backoffice.schedules import crontab, planning
from backoffice.schedules.timing import Gap, InvalidTiming, Overlap, Timing

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "cron"
SECOND = timedelta(seconds=1)


def vectors(name: str) -> list[dict[str, Any]]:
    file = FOLDER / name
    if not file.exists():
        pytest.skip("the folder ../shared/data is not here")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def instant(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def planned(vector: dict[str, Any], *, gap: Gap, overlap: Overlap) -> list[datetime]:
    timing = Timing(cron=vector["expr"], zone=vector["tz"] or "UTC", gap=gap, overlap=overlap)
    after = instant(vector["from"]) - (SECOND if vector["inclusive"] else timedelta(0))
    return planning.upcoming(timing, after=after, count=len(vector["next"]))


@pytest.mark.proves("jobs#carry-the-schedule-on-the-job-record")
def test_what_all_libraries_agree_on_we_plan_too() -> None:
    agreed = [v for v in vectors("next.jsonl") if v["class"] == "agreed"]
    assert len(agreed) > 600
    for vector in agreed:
        expected = [instant(text) for text in vector["next"]]
        assert planned(vector, gap=Gap.GAP_END, overlap=Overlap.BOTH) == expected, vector


def test_where_clocks_change_each_vector_is_what_one_of_the_policies_says() -> None:
    """Libraries guess from the look of the expression; we have one policy that each of their answers follows."""
    counts: dict[str, int] = {}
    for vector in (v for v in vectors("next.jsonl") if v["class"] == "dst"):
        expected = [instant(text) for text in vector["next"]]
        fits = [
            f"{gap}+{overlap}"
            for gap in Gap
            for overlap in Overlap
            if planned(vector, gap=gap, overlap=overlap) == expected
        ]
        assert fits, vector
        for policy in fits:
            counts[policy] = counts.get(policy, 0) + 1
    # A fixed hour fires once: Cronos. In the skipped hour it fires when the hour ends.
    assert max(counts, key=lambda policy: counts[policy]) == "gap_end+first"


def test_two_restricted_day_fields_mean_either_of_them() -> None:
    """Cronos wants both; crontab(5), cronsim and croniter want either, and so do we."""
    for vector in (v for v in vectors("next.jsonl") if v["class"] == "dom-and-dow"):
        ours = planned(vector, gap=Gap.GAP_END, overlap=Overlap.FIRST)
        if ours == [instant(text) for text in vector["next"]]:
            continue
        assert str(ours[0].timestamp()) == str(instant(vector["croniter"].removeprefix("differs: ")).timestamp())


def test_either_day_field_fires_also_beside_a_numbered_weekday() -> None:
    days = planning.upcoming(Timing(cron="0 0 8-9 * 0#2"), after=instant("2020-12-31T23:59:00Z"), count=7)
    assert [f"{day:%m-%d}" for day in days] == ["01-08", "01-09", "01-10", "02-08", "02-09", "02-14", "03-08"]


def test_the_last_day_of_each_month() -> None:
    days = planning.upcoming(Timing(cron="0 0 L * *"), after=instant("2015-09-30T00:00:00Z"), count=6)
    assert [f"{day:%m-%d}" for day in days] == ["10-31", "11-30", "12-31", "01-31", "02-29", "03-31"]


def test_the_nearest_weekday_stays_in_its_month() -> None:
    days = planning.upcoming(Timing(cron="0 0 1W * *"), after=instant("2026-07-15T00:00:00Z"), count=3)
    assert [f"{day:%m-%d}" for day in days] == ["08-03", "09-01", "10-01"]


@pytest.mark.proves("jobs#carry-the-schedule-on-the-job-record")
def test_what_is_no_expression_is_refused_with_a_message() -> None:
    for vector in [*vectors("invalid.jsonl"), {"expr": "0 1 0/10 * *", "bad_field": "day-of-month"}, {"expr": ""}]:
        with pytest.raises(InvalidTiming) as refused:
            crontab.Fields(vector["expr"])
        assert repr(vector["expr"]) in str(refused.value) and len(str(refused.value)) < 200
    with pytest.raises(InvalidTiming, match="the day-of-month field '0/10'"):
        crontab.parse("0 1 0/10 * *")


def test_what_never_fires_ends_at_once() -> None:
    """With both day fields restricted our reading is "either", so those expressions do fire."""
    for vector in vectors("never.jsonl"):
        started = time.perf_counter()
        day, weekday = vector["expr"].split()[-3], vector["expr"].split()[-1]
        if weekday in ("*", "?") or day.startswith("L-"):
            with pytest.raises(InvalidTiming, match=r"never fires|not readable"):
                crontab.Fields(vector["expr"])
        else:
            assert planning.upcoming(Timing(cron=vector["expr"]), after=instant("2026-01-01T00:00:00Z"), count=1)
        assert time.perf_counter() - started < 0.2, vector
    with pytest.raises(InvalidTiming, match="no day of the calendar matches"):
        crontab.Fields("0 0 */31 2 1#3")


def test_the_examples_of_activation_follow_the_stated_reading() -> None:
    for vector in vectors("activation.jsonl"):
        at = instant(vector["at"])
        fires = at in planning.due(Timing(cron=vector["expr"]), cursor=at - SECOND, now=at)
        # A day field that begins with a star narrows the other one here; in robfig/cron it does not.
        expected = False if vector["expr"] == "* * */10 * Sun" else vector["fires"]
        assert fires is expected, vector
