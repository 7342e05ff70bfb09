-- Give lines of a run their answer, each once.
UPDATE queues_bulkline AS line
   SET state = answer.state, given_to = answer.given, code = answer.code, words = answer.words
  FROM unnest(%(positions)s::int[], %(states)s::text[], %(given)s::bigint[], %(codes)s::text[], %(words)s::text[])
       AS answer (position, state, given, code, words)
 WHERE line.tenant_id = %(tenant)s
   AND line.run_id = %(run)s
   AND line.position = answer.position
   AND line.state IN ('open', 'not_started')
