"""Release approved payouts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from backoffice.errors import Refusal
from queues import money
from queues.models import Payout
from queues.money import Limit, Line, MoneyAction
from queues.money.releasing import release_payout


@money.register
class ReleasePayouts(MoneyAction):
    """Pay approved payouts over the ledger. A currency that is not listed is not payable in bulk."""

    name = "payout.release"
    title = _("Release payouts")
    model = Payout
    command = release_payout
    confirm_by = "totp"
    max_items = 5_000
    limits = {
        "EUR": Limit(total=5_000_000, four_eyes_above=250_000),
        "GBP": Limit(total=5_000_000, four_eyes_above=250_000),
        "USD": Limit(total=5_000_000, four_eyes_above=250_000),
        "CHF": Limit(total=5_000_000, four_eyes_above=250_000),
        "JPY": Limit(total=750_000_000, four_eyes_above=40_000_000),
        "KWD": Limit(total=1_500_000, four_eyes_above=75_000),
    }

    def line(self, payout: Payout, /) -> Line:
        """Return who gets what; refuse a payout that is not approved."""
        if payout.state != Payout.State.APPROVED:
            raise Refusal("not-approved", _("It is not approved (%s).") % payout.get_state_display())
        return Line(payee=payout.beneficiary, account=payout.account, amount=payout.amount, currency=payout.currency)
