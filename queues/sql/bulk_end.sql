-- Answer the lines that have none when a run ends: done where the item's command left its receipt (the run
-- died before it could write that down), not started otherwise.
UPDATE queues_bulkline AS line
   SET state = CASE WHEN EXISTS (SELECT 1
                                   FROM commands_receipt AS receipt
                                  WHERE receipt.tenant_id = %(tenant)s
                                    AND receipt.command IN ('item.assign', 'item.share', 'item.snooze',
                                                            'item.release', 'item.free')
                                    AND receipt.key = 'bulk:' || line.run_id || ':' || line.position)
                    THEN 'done' ELSE 'not_started' END
 WHERE line.tenant_id = %(tenant)s
   AND line.run_id = %(run)s
   AND line.state = 'open'
