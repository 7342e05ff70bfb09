-- Write the due times that were worked out for some of a tenant's items.
UPDATE {items} AS item
   SET due_at = fresh.due_at, due_reason = fresh.reason, due_seen = fresh.seen
  FROM unnest(%(ids)s::bigint[], %(ats)s::timestamptz[], %(reasons)s::text[], %(seens)s::bigint[])
       AS fresh (id, due_at, reason, seen)
 WHERE item.id = fresh.id
   AND item.tenant_id = %(tenant)s
