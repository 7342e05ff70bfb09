-- Wait for whoever holds the first claimable row for a moment: what comes back is free or lapsed still.
SELECT id
  FROM {items}
 WHERE tenant_id = %(tenant)s
   AND state IN ({open})
   AND (CASE WHEN claim_holder_id IS NULL THEN snoozed_until IS NULL OR snoozed_until <= (SELECT clock_timestamp())
             ELSE lease_until <= (SELECT clock_timestamp()) END)
   AND id <> ALL (ARRAY(SELECT item
                          FROM queues_itemskip
                         WHERE tenant_id = %(tenant)s
                           AND person_id = %(person)s
                           AND model = %(model)s
                           AND until > (SELECT clock_timestamp()))){narrowed}
 ORDER BY score DESC NULLS LAST, opened_at, id
 LIMIT 1
   FOR UPDATE
