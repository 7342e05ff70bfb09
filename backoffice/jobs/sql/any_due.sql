-- The question of every second.
SELECT 1 FROM job WHERE state = 'queued' AND dispatch_at <= clock_timestamp() LIMIT 1
