-- Freeze the lines of a plan in one statement; a COPY is refused on tables with row security.
INSERT INTO money_planline
       (tenant_id, plan_id, position, item_id, reference, payee, account, amount, currency, money_version)
SELECT %(tenant)s, %(plan)s, n, item_id, reference, payee, account, amount, currency, money_version
  FROM unnest(%(item_ids)s::bigint[], %(references)s::text[], %(payees)s::text[], %(accounts)s::text[],
              %(amounts)s::numeric[], %(currencies)s::text[], %(money_versions)s::int[])
       WITH ORDINALITY AS frozen (item_id, reference, payee, account, amount, currency, money_version, n)
