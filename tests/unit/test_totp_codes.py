"""Codes of RFC 6238, exactly six ASCII digits, within one step on each side."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from backoffice.stepup import codes

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
VECTORS = Path(__file__).resolve().parents[3] / "shared" / "data" / "totp" / "vectors.jsonl"


def _match(code: str, *, at: float) -> int | None:
    return codes.matching_step(secret=SECRET, code=code, unix_time=at)


@pytest.mark.skipif(not VECTORS.exists(), reason="the folder of real files is not here")
def test_codes_equal_the_vectors_of_the_rfc() -> None:
    rows = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    ours = [r for r in rows if r["kind"] == "totp" and r["algorithm"] == "SHA1"]
    assert len(ours) >= 12
    for row in ours:
        expected = row["code"] if row["digits"] == 6 else row["code_6"]
        step = codes.step_at(row["unix_time"])
        assert codes.code_of(secret=row["secret_base32"], step=step) == expected, row
        assert _match(expected, at=row["unix_time"]) == step


def test_the_window_is_one_step_on_each_side() -> None:
    now = 1_111_111_109
    step = codes.step_at(now)
    accepted = [n for n in range(-3, 4) if _match(codes.code_of(secret=SECRET, step=step + n), at=now) == step + n]
    assert accepted == [-1, 0, 1]


def test_a_code_read_at_the_last_second_is_accepted_until_its_successor_ends() -> None:
    ends = 1_111_111_110  # a step's first second
    old = codes.code_of(secret=SECRET, step=codes.step_at(ends) - 1)
    assert [_match(old, at=ends + s) is not None for s in (1, 29, 31)] == [True, True, False]


@pytest.mark.parametrize(
    "typed",
    [
        "81804",
        "081 804",
        "0818040",
        "",
        "081804x",
        "٠٨١٨٠٤",
        "０８１８０４",
        "081804\x00",
        "+81804",
        "0x1804",
        "\ud800" * 6,
    ],
)
def test_only_six_ascii_digits_are_a_code(typed: str) -> None:
    assert _match("081804", at=1_111_111_109) is not None
    assert _match(typed, at=1_111_111_109) is None


def test_white_space_around_a_code_is_dropped() -> None:
    assert _match(" 081804\n", at=1_111_111_109) == codes.step_at(1_111_111_109)


@pytest.mark.parametrize("spelt", [SECRET.lower(), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", SECRET + "===="])
def test_a_secret_is_the_same_however_it_is_typed(spelt: str) -> None:
    assert codes.code_of(secret=spelt, step=1) == codes.code_of(secret=SECRET, step=1)


def test_a_secret_has_160_bits() -> None:
    made = {codes.new_secret() for _ in range(50)}
    assert len(made) == 50 and all(len(secret) == 32 and codes.is_secret(secret) for secret in made)


@pytest.mark.case("TP-05")
@pytest.mark.parametrize(
    ("issuer", "account"),
    [("A&B Pay: Ops", "x y"), ("Backoffice (Müller & Söhne)", "jörg@acme.example"), ("50% + more/less?", "a#b@x.y")],
)
def test_the_enrolment_address_gives_back_issuer_account_and_secret(issuer: str, account: str) -> None:
    uri = codes.enrolment_uri(secret="gezd gnbv gy3t qojq gezd gnbv gy3t qojq==", issuer=issuer, account=account)
    parts = urlsplit(uri)
    fields = parse_qs(parts.query, strict_parsing=True)
    label_issuer, _, label_account = parts.path.lstrip("/").partition(":")
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert fields == {"secret": [SECRET], "issuer": [issuer]}
    assert (unquote(label_issuer), unquote(label_account)) == (issuer, account)
    assert "+" not in uri.replace("%2B", "") and " " not in uri
