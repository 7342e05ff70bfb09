-- Score a range of one tenant's items; write only the rows that change. The rule's SELECT is worked out
-- once, whatever the plan: over a table without statistics it was worked out once a pair of rows.
-- A score that somebody set stays until it ends; what the rule gives is kept beside it all the same.
WITH fresh (id, score, inputs, seen) AS MATERIALIZED (
    /* the rule's SELECT */
)
UPDATE {items} AS item
   SET score = CASE WHEN item.override_until > %s THEN item.override_score ELSE fresh.score END,
       score_before = CASE WHEN item.scored_at IS NULL THEN NULL
                           WHEN item.score_inputs = fresh.inputs AND item.score_version = %s THEN item.score_before
                           ELSE jsonb_build_object('inputs', item.score_inputs, 'version', item.score_version,
                                                   'at', item.scored_at) END,
       score_inputs = fresh.inputs,
       score_seen = fresh.seen,
       score_rule = %s,
       score_version = %s,
       scored_at = %s
  FROM fresh
 WHERE item.id = fresh.id
   AND item.tenant_id = %s
   AND item.id BETWEEN %s AND %s
   AND (item.score_seen IS DISTINCT FROM fresh.seen
        OR (item.score_inputs, item.score_rule, item.score_version) IS DISTINCT FROM (fresh.inputs, %s, %s)
        OR item.score IS DISTINCT FROM CASE WHEN item.override_until > %s THEN item.override_score
                                            ELSE fresh.score END)
