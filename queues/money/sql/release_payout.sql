-- Pay one payout of a confirmed plan: its line, the payout and a balanced transfer, in one statement.
-- Each part stands on the one before, so the row that comes back says how far it got.
WITH line AS (
    UPDATE money_planline
       SET state = 'done', code = '', words = '', rail_reference = %(reference)s, settled_at = clock_timestamp()
     WHERE id = %(line)s AND plan_id = %(plan)s AND tenant_id = %(tenant)s AND item_id = %(item)s
       AND state IN ('planned', 'sending', 'unknown')
    RETURNING id, plan_id, position, item_id, payee, account, amount, currency, money_version
), paid AS (
    UPDATE queues_payout p
       SET state = 'paid', version = p.version + 1
      FROM line
     WHERE p.id = line.item_id AND p.tenant_id = %(tenant)s AND p.plan_id = line.plan_id AND p.state = 'approved'
       AND p.money_version = line.money_version
       AND (p.beneficiary, p.account, p.amount, p.currency) = (line.payee, line.account, line.amount, line.currency)
    RETURNING p.id
), transfer AS (
    INSERT INTO money_transfer (tenant_id, key, line_id)
    SELECT %(tenant)s, 'plan:' || line.plan_id || ':' || line.position, line.id FROM line, paid
    RETURNING id
), entries AS (
    INSERT INTO money_entry (tenant_id, transfer_id, account_id, amount)
    SELECT %(tenant)s, transfer.id, a.id, CASE a.code WHEN 'payables' THEN line.amount ELSE -line.amount END
      FROM transfer, line, money_account a
     WHERE a.tenant_id = %(tenant)s AND a.currency = line.currency AND a.code IN ('payables', 'cash')
    RETURNING id
)
SELECT line.amount, line.currency, (SELECT count(*) FROM paid), (SELECT count(*) FROM entries) FROM line
