-- Cut the open items of a tenant into ranges of ids that hold about so many each.
SELECT min(id), max(id)
  FROM (SELECT id, (row_number() OVER (ORDER BY id) - 1) / %(batch)s AS part
          FROM {items}
         WHERE tenant_id = %(tenant)s
           AND state = ANY(%(open)s)) AS numbered
 GROUP BY part
 ORDER BY part
