import type { DatabaseSync } from "node:sqlite";

/** The ledger's statements, prepared. The parameters of a key stand last, but for `find`, `claim` and `release`. */
export function claimStatements(database: DatabaseSync) {
  const byKey = "network = ? AND asset = ? AND payer = ? AND nonce = ?";
  return {
    find: database.prepare(`SELECT * FROM claims WHERE ${byKey}`),
    claim: database.prepare(
      `INSERT INTO claims (network, asset, payer, nonce, state, route, fingerprint, digest, payload, requirements,
         valid_before, updated_at_ms) VALUES (?, ?, ?, ?, 'working', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    settling: database.prepare(
      `UPDATE claims SET state = 'settling', status = ?, headers = ?, body = ?, updated_at_ms = ?
         WHERE ${byKey} AND state = 'working'`,
    ),
    pending: database.prepare(
      `UPDATE claims SET settlement = ?, updated_at_ms = ? WHERE ${byKey} AND state = 'settling'`,
    ),
    settled: database.prepare(
      `UPDATE claims SET state = 'settled', settlement = ?, updated_at_ms = ? WHERE ${byKey} AND state = 'settling'`,
    ),
    delivered: database.prepare(
      `UPDATE claims SET state = 'delivered', payload = NULL, status = NULL, headers = NULL, body = NULL,
         updated_at_ms = ? WHERE ${byKey} AND state = 'settled'`,
    ),
    release: database.prepare(`DELETE FROM claims WHERE ${byKey} AND state IN ('working', 'settling')`),
    releaseWorking: database.prepare("DELETE FROM claims WHERE state = 'working'"),
    unsettled: database.prepare("SELECT * FROM claims WHERE state = 'settling' ORDER BY updated_at_ms LIMIT ?"),
    count: database.prepare("SELECT state, count(*) AS claims FROM claims GROUP BY state"),
    forget: database.prepare(
      `DELETE FROM claims WHERE state IN ('settled', 'delivered') AND updated_at_ms < ? AND valid_before < ?`,
    ),
  };
}
