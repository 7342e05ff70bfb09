-- Count a person's live holds in this queue, besides one item.
SELECT count(*)
  FROM {items}
 WHERE tenant_id = %(tenant)s
   AND claim_holder_id = %(person)s
   AND lease_until > (SELECT clock_timestamp())
   AND id <> %(item)s
