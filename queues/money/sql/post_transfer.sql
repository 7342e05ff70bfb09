-- One balanced transfer: the debit above zero, the credit below. Fewer than two entries mean a missing account.
WITH made AS (
    INSERT INTO money_transfer (tenant_id, key, line_id) VALUES (%(tenant)s, %(key)s, %(line)s) RETURNING id
)
INSERT INTO money_entry (tenant_id, transfer_id, account_id, amount)
SELECT %(tenant)s, made.id, a.id, CASE a.code WHEN %(debit)s THEN %(amount)s::numeric ELSE -%(amount)s::numeric END
  FROM made
  JOIN money_account a
    ON a.tenant_id = %(tenant)s AND a.currency = %(currency)s AND a.code IN (%(debit)s, %(credit)s)
