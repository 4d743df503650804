/**
 * The ledger's statements, for SQLite and PostgreSQL alike. `$1` to `$4` are the key (network, asset, payer, nonce) where a
 * statement is about one claim, and `$5` is the process that asks: it changes only what it owns.
 */
export function claimSql(nowMs: string) {
  const byKey = "network = $1 AND asset = $2 AND payer = $3 AND nonce = $4";
  const mine = `${byKey} AND owner = $5`;
  // A parameter says how long past its time an owner is still taken for alive; see `ClaimOwner.graceMs`.
  const living = (graceMs: string) => `SELECT id FROM claim_owner WHERE expires_at_ms > ${nowMs} - ${graceMs}`;
  const free = (graceMs: string) => `(owner IS NULL OR owner NOT IN (${living(graceMs)}))`;
  return {
    find: `SELECT * FROM claims WHERE ${byKey}`,
    claim: `INSERT INTO claims (network, asset, payer, nonce, owner, state, route, fingerprint, digest, payload, requirements,
        idempotency_key, valid_before, updated_at_ms)
      VALUES ($1, $2, $3, $4, $5, 'working', $6, $7, $8, $9, $10, $11, $12, $13)
      ON CONFLICT DO NOTHING`,
    take: `UPDATE claims SET owner = $5
      WHERE ${byKey} AND state <> 'delivered' AND (owner = $5 OR ${free("$6")}) RETURNING *`,
    giveBack: `UPDATE claims SET owner = NULL WHERE ${mine}`,
    settling: `UPDATE claims SET state = 'settling', status = $6, headers = $7, body = $8, updated_at_ms = $9
      WHERE ${mine} AND state = 'working'`,
    pending: `UPDATE claims SET settlement = $6, updated_at_ms = $7 WHERE ${mine} AND state = 'settling'`,
    settled: `UPDATE claims SET state = 'settled', settlement = $6, updated_at_ms = $7 WHERE ${mine} AND state = 'settling'`,
    delivered: `UPDATE claims SET state = 'delivered', payload = NULL, status = NULL, headers = NULL, body = NULL, owner = NULL,
        updated_at_ms = $6 WHERE ${mine} AND state = 'settled'`,
    release: `DELETE FROM claims WHERE ${mine} AND state IN ('working', 'settling')`,
    owned: "SELECT network, asset, payer, nonce, state FROM claims WHERE owner = $1 LIMIT $2",
    releaseAbandonedWork: `DELETE FROM claims WHERE state = 'working' AND ${free("$1")}`,
    disown: `UPDATE claims SET owner = NULL WHERE owner IS NOT NULL AND ${free("$1")}`,
    unsettled: `SELECT * FROM claims WHERE state = 'settling' AND ${free("$2")} ORDER BY updated_at_ms LIMIT $1`,
    count: "SELECT state, count(*) AS claims FROM claims GROUP BY state",
    forget: `DELETE FROM claims
      WHERE state IN ('settled', 'delivered') AND owner IS NULL AND updated_at_ms < $1 AND valid_before < $2`,
  };
}
