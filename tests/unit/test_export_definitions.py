"""What is wrong with an export's definition is said by `manage.py check`, one id an option."""

from __future__ import annotations

from typing import Any

import pytest
from import_export import widgets
from import_export.fields import Field
from import_export.resources import ModelResource

from backoffice.errors import UnknownDefinition
from exports import columns
from exports.base import Audit, Export, NoPaging, Pages, exports
from exports.bounds import Bounds
from exports.columns import Kind
from queues.models import Payout

PAYOUTS = exports.get("payouts")


def ids(**changed: Any) -> list[str]:
    broken = type("Broken", (type(PAYOUTS),), changed)
    return [str(message.id) for message in broken().check()]


def test_the_payouts_export_is_found_and_sound() -> None:
    assert PAYOUTS.check() == []
    with pytest.raises(UnknownDefinition):
        exports.get("nothing")


class OtherColumns(ModelResource):
    class Meta:
        model = Payout
        fields = ("id", "amount")


class NoColumn(ModelResource):
    nothing = Field(attribute="nothing", column_name="nothing")

    class Meta:
        model = Payout
        fields = ("nothing",)


@pytest.mark.proves("jobs#define-export-encoding-and-columns")
def test_columns_that_drift_from_the_recorded_contract_are_e002() -> None:
    assert ids(resource=OtherColumns) == ["exports.E002"]
    assert ids(contract=PAYOUTS.contract[1:]) == ["exports.E002"]
    assert ids(contract=tuple(reversed(PAYOUTS.contract))) == ["exports.E002"]


@pytest.mark.proves("jobs#declare-export-paging")
def test_an_export_without_paging_or_reason_is_e006() -> None:
    assert ids(paging=None) == ["exports.E006"]
    assert ids(paging=Pages(size=0)) == ["exports.E006"]
    assert ids(paging=NoPaging(reason="")) == ["exports.E006"]
    assert ids(paging=NoPaging(reason="a table of forty rows")) == []
    assert PAYOUTS.describe()["paging"] == {"mode": "pages", "size": 10_000}


@pytest.mark.proves("jobs#audit-export-reads")
def test_an_export_without_audit_reason_or_target_is_e005() -> None:
    assert ids(audit=None) == ["exports.E005"]
    assert ids(audit=Audit(reason="", target="exports")) == ["exports.E005"]
    assert ids(audit=Audit(reason="why", target="")) == ["exports.E005"]


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("resource", NoColumn, "exports.E001"),
        ("permission", "queues.nobody", "exports.E003"),
        ("contact", "", "exports.E004"),
        ("bounds", None, "exports.E007"),
        ("request_budget", "exports.unknown", "exports.E008"),
        ("need", "", "exports.E009"),
        ("encodings", ("latin-1",), "exports.E010"),
    ],
)
def test_each_option_has_its_own_check(option: str, value: Any, code: str) -> None:
    assert ids(**{option: value}) == [code]


def test_a_bound_that_is_no_setting_is_e007() -> None:
    names = {**PAYOUTS.stated_bounds().names(), "rows": "exports.unknown"}
    assert ids(bounds=Bounds(**names)) == ["exports.E007"]


@pytest.mark.proves("jobs#run-budget-exceeding-exports-in-worker")
def test_the_request_budget_is_a_setting_that_the_export_names() -> None:
    assert PAYOUTS.request_budget == "exports.payouts.request_budget"
    assert ids(request_budget="") == ["exports.E008"]


@pytest.mark.proves("jobs#avoid-speculative-reporting-systems")
def test_every_export_names_a_need_that_somebody_has_now() -> None:
    assert all(str(export.need) for export in exports)
    assert ids(need="") == ["exports.E009"]


class Computed(ModelResource):
    shout = Field(column_name="shout")
    double = Field(column_name="double", widget=widgets.DecimalWidget())
    day = Field(attribute="opened_at", column_name="day")

    class Meta:
        model = Payout
        fields = ("id", "shout", "double", "day", "date_missing")
        export_order = fields

    def dehydrate_shout(self, payout: Payout) -> str:
        return payout.beneficiary.upper()

    def dehydrate_double(self, payout: Payout) -> Any:
        return payout.amount * 2


@pytest.mark.proves("jobs#define-export-encoding-and-columns")
def test_a_resource_is_compiled_once_into_typed_columns() -> None:
    compiled = columns.compile_columns(Computed, formulas=("shout",))
    assert [(c.name, c.kind, c.compute is not None) for c in compiled] == [
        ("id", Kind.INTEGER, False),
        ("shout", Kind.TEXT, True),
        ("double", Kind.DECIMAL, True),
        ("day", Kind.INSTANT, False),
        ("date_missing", Kind.BOOLEAN, False),
    ]
    assert compiled[1].is_formula and not compiled[2].is_formula
    assert columns.fingerprint(compiled) != columns.fingerprint(compiled[1:])
    assert columns.fingerprint(compiled) == columns.fingerprint(columns.compile_columns(Computed))


def test_the_stock_exporter_is_never_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("Resource.export() holds the whole data set in memory")

    monkeypatch.setattr(ModelResource, "export", never)
    fresh = type("Fresh", (Export,), {"resource": Computed})()
    assert len(fresh.columns) == 5
