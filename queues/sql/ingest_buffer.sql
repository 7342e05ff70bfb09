-- The records of one file, for this connection alone; a reason marks what is dropped.
CREATE TEMPORARY TABLE ingest_buffer (
    line integer NOT NULL,
    reason text NOT NULL,
    natural_key text NOT NULL,
    digest text NOT NULL,
    reference text NOT NULL,
    state text NOT NULL,
    beneficiary text NOT NULL,
    account text NOT NULL,
    amount numeric(20, 4),
    description text NOT NULL,
    opened_at timestamptz
)
