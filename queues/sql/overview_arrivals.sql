-- The items that arrived within the window, by the hour of the tenant's zone; at most %(cap)s, the latest first.
SELECT extract(epoch FROM date_trunc('hour', loaded_at, %(zone)s))::bigint, count(*)
  FROM (SELECT loaded_at
          FROM {items}
         WHERE tenant_id = %(tenant)s
           AND loaded_at > %(since)s
         ORDER BY loaded_at DESC
         LIMIT %(cap)s) AS latest
 GROUP BY 1
