-- Keep the figures of quarters of an hour that are over, the empty ones too, so that one sees how far it got.
INSERT INTO queues_tally (tenant_id, kind, quarter, figures)
SELECT %(tenant)s, %(kind)s, quarter, coalesce(found.figures, '{{}}')
  FROM generate_series(%(since)s::timestamptz, %(before)s::timestamptz - interval '15 minutes', interval '15 minutes')
       AS each (quarter)
  LEFT JOIN ({quarters}) AS found USING (quarter)
ON CONFLICT (tenant_id, kind, quarter) DO NOTHING
