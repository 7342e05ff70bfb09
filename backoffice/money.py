"""Money: a Decimal amount beside an ISO 4217 currency. Never a float, never a bare minor unit."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from backoffice.errors import Refusal

# ISO 4217, list one: the currencies whose minor unit is not two digits.
MINOR_DIGITS = {
    **dict.fromkeys(["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"], 0),
    **dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3),
    **dict.fromkeys(["CLF", "UYW"], 4),
}


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
    number = number_format(amount.quantize(Decimal(1).scaleb(-digits)), decimal_pos=digits, force_grouping=True)
    return f"{currency} {number}"
