-- Count a try before it is judged. No row comes back while the person has to wait.
INSERT INTO stepup_throttle AS t (tenant_id, person_id, purpose, failures, next_allowed_at)
VALUES (%(tenant)s, %(person)s, %(purpose)s, 1, clock_timestamp())
ON CONFLICT (tenant_id, person_id, purpose) DO UPDATE
   SET failures = t.failures + 1,
       next_allowed_at = clock_timestamp() + make_interval(secs => least(
           86400,
           CASE WHEN t.failures + 1 >= %(tries)s
                THEN %(lock)s * 2 ^ least(t.failures + 1 - %(tries)s, 12)
                WHEN t.failures + 1 >= 3 THEN 5 * 2 ^ (t.failures - 2)
                ELSE 0 END))
 WHERE t.next_allowed_at <= clock_timestamp()
RETURNING failures, next_allowed_at
