"""Plans with their lines and exclusions; the ledger with its accounts, transfers and entries."""

from queues.money.models.ledger import Account, Entry, Transfer
from queues.money.models.plans import Exclusion, Plan, PlanLine

__all__ = ["Account", "Entry", "Exclusion", "Plan", "PlanLine", "Transfer"]
