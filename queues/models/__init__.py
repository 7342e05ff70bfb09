"""The items of the built-in queues, and the rates that let amounts compare."""

from queues.models.challenges import ScoreChallenge
from queues.models.disputes import Dispute
from queues.models.item import QueueItem
from queues.models.payouts import Payout
from queues.models.rates import ReferenceRate
from queues.models.reviews import AccountReview
from queues.models.search import SearchText
from queues.models.skips import ItemSkip
from queues.models.views import SavedView

__all__ = [
    "AccountReview",
    "Dispute",
    "ItemSkip",
    "Payout",
    "QueueItem",
    "ReferenceRate",
    "SavedView",
    "ScoreChallenge",
    "SearchText",
]
