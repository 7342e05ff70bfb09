-- Put the rule's score back where an override has ended: the points of the stored inputs, added up.
-- A row that somebody works on is passed by; the next sweep finds it.
WITH ended AS (
    SELECT id
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND override_until <= clock_timestamp()
     LIMIT %(limit)s
       FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {items} AS item
   SET score = (SELECT sum((one ->> 'points')::int) FROM jsonb_array_elements(item.score_inputs) AS one),
       override_score = NULL, override_until = NULL, override_by_id = NULL, override_reason = ''
  FROM ended
 WHERE item.id = ended.id
RETURNING item.id, item.score
