"""The items of the built-in queues, the rates that let amounts compare, the calendar of due times; bulk runs,
sharing out, and what is tallied for the overview.
"""

from queues.models.bulk import BulkLine, BulkRun
from queues.models.calendars import Holiday, WorkingCalendar
from queues.models.challenges import ScoreChallenge
from queues.models.disputes import Dispute
from queues.models.item import QueueItem
from queues.models.payouts import Payout
from queues.models.rates import ReferenceRate
from queues.models.reviews import AccountReview
from queues.models.search import SearchText
from queues.models.sharing import Absence, Rotation
from queues.models.skips import ItemSkip
from queues.models.tallies import Tally
from queues.models.views import SavedView

__all__ = [
    "Absence",
    "AccountReview",
    "BulkLine",
    "BulkRun",
    "Dispute",
    "Holiday",
    "ItemSkip",
    "Payout",
    "QueueItem",
    "ReferenceRate",
    "Rotation",
    "SavedView",
    "ScoreChallenge",
    "SearchText",
    "Tally",
    "WorkingCalendar",
]
