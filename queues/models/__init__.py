"""The items of the built-in queues."""

from queues.models.disputes import Dispute
from queues.models.item import QueueItem
from queues.models.payouts import Payout
from queues.models.reviews import AccountReview

__all__ = ["AccountReview", "Dispute", "Payout", "QueueItem"]
