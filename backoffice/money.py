"""Money: a Decimal amount beside an ISO 4217 currency. Never a float, never a bare minor unit."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from backoffice.errors import Refusal


def _split(text: str) -> list[str]:
    return text.split()


# ISO 4217, list one: the currencies whose minor unit is not two digits.
MINOR_DIGITS = {
    **dict.fromkeys(_split("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"), 0),
    **dict.fromkeys(_split("BHD IQD JOD KWD LYD OMR TND"), 3),
    **dict.fromkeys(_split("CLF UYW"), 4),
}

# ISO 4217, list one: the currencies in use that have a minor unit; gold, test codes and the like have none.
CURRENCIES = frozenset(
    _split("""
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF
    CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD
    HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD
    MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN
    PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD
    TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """)
)


def minor_digits(currency: str) -> int:
    """Return how many digits follow the decimal point in this currency."""
    return MINOR_DIGITS.get(currency, 2)


def exact(amount: Decimal, currency: str) -> Decimal:
    """Return the amount with its currency's digits; refuse one that has more than the currency knows."""
    digits = minor_digits(currency)
    try:
        rounded = amount.quantize(Decimal(1).scaleb(-digits))
    except InvalidOperation:
        raise Refusal("amount-too-large", _("The amount has too many digits.")) from None
    if rounded != amount:
        raise Refusal(
            "amount-too-precise",
            _("%(currency)s has %(digits)d decimals; the amount has more.") % {"currency": currency, "digits": digits},
        )
    return rounded


def to_minor(amount: Decimal, currency: str) -> int:
    """Return the amount in the currency's minor unit (JPY 9,899 is 9899; USD 58.00 is 5800)."""
    return int(exact(amount, currency).scaleb(minor_digits(currency)))


def show(amount: Decimal, currency: str) -> str:
    """Write the amount for people in the active language: "EUR 1,900.00", "JPY 9,899"."""
    digits = minor_digits(currency)
    rounded = amount.quantize(Decimal(1).scaleb(-digits))
    number = number_format(rounded or abs(rounded), decimal_pos=digits, force_grouping=True)
    return f"{currency} {number}"
