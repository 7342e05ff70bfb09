-- Score a range of one tenant's items; write only the rows that change. The rule's SELECT is worked out
-- once, whatever the plan: over a table without statistics it was worked out once a pair of rows.
WITH fresh (id, score, inputs) AS MATERIALIZED (
    /* the rule's SELECT */
)
UPDATE {items} AS item
   SET score = fresh.score,
       score_inputs = fresh.inputs,
       score_rule = %s,
       score_version = %s,
       scored_at = %s
  FROM fresh
 WHERE item.id = fresh.id
   AND item.tenant_id = %s
   AND item.id BETWEEN %s AND %s
   AND (item.score, item.score_inputs, item.score_rule, item.score_version)
       IS DISTINCT FROM (fresh.score, fresh.inputs, %s, %s)
