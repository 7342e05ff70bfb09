-- Write down what was chosen, in list order, as it is seen now: who holds it, under which token, its version.
INSERT INTO queues_bulkline (tenant_id, run_id, position, item_id, reference, holder_id, token, version)
SELECT %s, %s, row_number() OVER (), seen.id, seen.reference,
       CASE WHEN seen.lease_until > clock_timestamp() THEN seen.claim_holder_id END,
       seen.claim_token, seen.version
  FROM (/* chosen */) AS seen
