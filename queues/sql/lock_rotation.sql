-- Lock the queue's rotation until the transaction ends, made where there is none; say whose turn it is.
INSERT INTO queues_rotation (tenant_id, queue)
VALUES (%(tenant)s, %(queue)s)
ON CONFLICT (tenant_id, queue) DO UPDATE SET queue = EXCLUDED.queue
RETURNING id, head_id
