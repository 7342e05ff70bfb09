-- Score a range of one tenant's items; write only the rows that change. OFFSET 0 has each score worked
-- out once; without it the comparison and the assignment would each work it out.
UPDATE {items} AS item
   SET score = fresh.score,
       score_inputs = fresh.inputs,
       score_rule = %s,
       score_version = %s,
       scored_at = %s
  FROM (SELECT * FROM (/* the rule's SELECT */) AS rule OFFSET 0) AS fresh (id, score, inputs)
 WHERE item.id = fresh.id
   AND item.tenant_id = %s
   AND item.id BETWEEN %s AND %s
   AND (item.score, item.score_inputs, item.score_rule, item.score_version)
       IS DISTINCT FROM (fresh.score, fresh.inputs, %s, %s)
