"""The append-only audit trail: who did what to what, and what was refused.

The database refuses UPDATE and DELETE of an event, whoever asks. An event is written in the
transaction of what it reports, or, for a refusal, in one of its own after the rollback.
"""
