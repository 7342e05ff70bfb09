-- The values that a field has in open items, found one after another along the index that begins with it.
WITH RECURSIVE known AS (
    (SELECT {field} AS value, 1 AS number
       FROM {items}
      WHERE tenant_id = %(tenant)s
        AND state = ANY(%(open)s)
      ORDER BY {field}
      LIMIT 1)
    UNION ALL
    SELECT (SELECT {field}
              FROM {items}
             WHERE tenant_id = %(tenant)s
               AND state = ANY(%(open)s)
               AND {field} > known.value
             ORDER BY {field}
             LIMIT 1),
           known.number + 1
      FROM known
     WHERE known.value IS NOT NULL
       AND known.number < %(most)s
)
SELECT value FROM known WHERE value IS NOT NULL
