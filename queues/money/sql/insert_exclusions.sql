INSERT INTO money_exclusion (tenant_id, plan_id, item_id, reference, amount, currency, code, words)
SELECT %(tenant)s, %(plan)s, left_out.*
  FROM unnest(%(item_ids)s::bigint[], %(references)s::text[], %(amounts)s::numeric[], %(currencies)s::text[],
              %(codes)s::text[], %(words)s::text[]) AS left_out
