"""What `manage.py check` says of a kind of job that is declared wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backoffice.jobs.base import Backoff, Consequence, JobKind, NoConsequence, Step
from backoffice.jobs.running import readable_traceback
from backoffice.jobs.statements import storable


def _kind(**options: object) -> JobKind:
    right = {
        "name": "a.kind",
        "title": "A kind",
        "steps": (Step("one", "One"),),
        "changes": "A thing is there.",
        "failure": NoConsequence("It changes nothing."),
        "run": lambda self, run: None,
    }
    return type("AKind", (JobKind,), {**right, **options})()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"title": ""}, "jobs.E001"),
        ({"queue": "slow"}, "jobs.E002"),
        ({"steps": ()}, "jobs.E003"),
        ({"steps": (Step("one", "One"), Step("one", "Two"))}, "jobs.E003"),
        ({"steps": (Step("one", "One", weight=50),)}, "jobs.E004"),
        ({"steps": (Step("one", "One", weight=50), Step("two", "Two"))}, "jobs.E004"),
        ({"steps": (Step("one", "One", weight=70), Step("two", "Two", weight=30))}, "jobs.E004"),
        ({"max_attempts": 0}, "jobs.E005"),
        ({"backoff": None}, "jobs.E006"),
        ({"lease": timedelta(milliseconds=10)}, "jobs.E007"),
        ({"max_duration": timedelta(0)}, "jobs.E008"),
        ({"run": JobKind.run}, "jobs.E010"),
        ({"changes": ""}, "jobs.E011"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], code: str) -> None:
    assert [message.id for message in _kind(**options).check()] == [code]


@pytest.mark.proves("record#09")
@pytest.mark.parametrize("failure", [None, "words", Consequence(""), NoConsequence("")])
def test_a_kind_that_does_not_say_what_its_failure_means_fails_the_check(failure: object) -> None:
    found = _kind(failure=failure).check()
    assert [(message.id, message.msg) for message in found] == [
        ("jobs.E009", "a.kind: it does not say what its failure means.")
    ]


def test_a_right_kind_passes() -> None:
    assert _kind().check() == []
    assert _kind(failure=Consequence("The batch stays unpaid.")).describe()["failure"] == "The batch stays unpaid."


def test_the_backoff_doubles_up_to_its_most() -> None:
    backoff = Backoff(first=timedelta(seconds=5), most=timedelta(seconds=60))
    assert [backoff(n).total_seconds() for n in (1, 2, 3, 4, 5, 50)] == [5, 10, 20, 40, 60, 60]


def test_text_for_the_record_can_be_stored() -> None:
    assert storable("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert len(storable("x" * 10_000)) == 500


class Nameless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [ValueError("a\x00\ud800"), ValueError("x" * 10_000_000), Nameless()])
def test_a_traceback_for_the_log_is_bounded_and_clean(error: Exception) -> None:
    text = readable_traceback(error)
    assert len(text) < 65_000
    assert "\x00" not in text
    text.encode()
