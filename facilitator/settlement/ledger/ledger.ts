import { formatValues, type SqlConnection, type SqlStore, type SqlValue } from "#daemon/sql/store.ts";
import { channelsAddress } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import type { DepositKey } from "#x402/signed-payment.ts";
import { getNonceSpace } from "../../chain/transfer-method.ts";
import type { SuspendablePayment } from "../../chain/suspensions.ts";
import {
  attemptColumns,
  toAttemptRow,
  toAuthorizationKey,
  settlementColumns,
  toSettlementRow,
  readAttempts,
  toRecordedSettlement,
  toSettlement,
} from "./rows.ts";
import type { Attempt, Outcome, RecordedSettlement, Settlement, UnfinishedSettlement } from "../settlement.ts";

type NewAttempt = Readonly<{ settlement: Settlement; attempt: Attempt }>;

export type Ledger = ReturnType<typeof createLedger>;

/** The settling process's writes, and its initial state. */
export type Journal = Pick<Ledger, "begin" | "finish" | "withdraw" | "unfinished">;

export type LedgerDependencies = Readonly<{
  store: SqlStore;
  clock: () => number;
  /** Runs first in every transaction that begins, finishes or withdraws; throwing aborts the transaction. */
  guard?: (connection: SqlConnection) => Promise<void>;
  /** Whether settlements without transactions are kept: they are requests from other replicas. */
  keepsRequests?: boolean;
}>;

const progressSql =
  "SELECT state, transaction_hash, amount, reason, message, owner FROM settlement WHERE chain_id = $1 AND id = $2";

const rivalSql = `SELECT 1 AS rival FROM settlement
  WHERE chain_id = $1 AND COALESCE(nonce_space, asset) = $2 AND payer = $3 AND authorization_nonce = $4 AND state <> 'failed' AND id <> $5`;

const startedSql = "SELECT * FROM settlement WHERE chain_id = $1 AND state = 'begun' ORDER BY begun_at_ms, id";

// Order by fee: each transaction of a settlement offers more than the previous one, even if the clock was changed in between.
// CROSS JOIN makes SQLite start with the settlements in flight; otherwise it reads all transactions of the chain.
const attemptsSql = `SELECT attempt.* FROM settlement CROSS JOIN attempt
  WHERE settlement.chain_id = $1 AND settlement.state = 'begun'
    AND attempt.chain_id = settlement.chain_id AND attempt.settlement_id = settlement.id ORDER BY length(attempt.max_fee_per_gas), attempt.max_fee_per_gas`;

const deleteAttemptSql = "DELETE FROM attempt WHERE chain_id = $1 AND hash = $2 RETURNING settlement_id";

/** Deletes a settlement that has no transaction. */
export const deleteChildlessSql = `DELETE FROM settlement WHERE chain_id = $1 AND state = 'begun' AND id = $2
  AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id)`;

const deleteFinishedSql = `DELETE FROM settlement WHERE (chain_id, id) IN (SELECT chain_id, id FROM settlement
  WHERE state <> 'begun' AND finished_at_ms < $1 ORDER BY finished_at_ms LIMIT $2)`;

/**
 * Creates the ledger of settlements on one chain. Writes are durable on disk when a promise resolves, even if the process or
 * machine crashes afterwards. At most one settlement per authorization nonce can be in flight or settled. Any method
 * throws `StoreError` when the database is unavailable.
 */
export function createLedger(
  { chainId }: Readonly<{ chainId: number }>,
  { store, clock, guard = async () => undefined, keepsRequests = false }: LedgerDependencies,
) {
  const runGuarded = (work: (connection: SqlConnection) => Promise<void>) =>
    store.transaction(async (connection) => {
      await guard(connection);
      await work(connection);
    });
  const withdraw = createWithdrawals((hashes) =>
    runGuarded((connection) => deleteAttempts(connection, { chainId, keepsRequests }, hashes)),
  );
  return {
    progress: async (id: Hex): Promise<RecordedSettlement | undefined> => {
      const [row] = await store.rows(progressSql, [chainId, id]);
      return row === undefined ? undefined : toRecordedSettlement(row);
    },
    /** Returns whether a payment other than `settlement` has used, or is about to use, the same authorization nonce. */
    hasConflict: async (settlement: Settlement): Promise<boolean> => {
      const rows = await store.rows(rivalSql, [chainId, ...toAuthorizationKey(settlement), settlement.id]);
      return rows.length > 0;
    },
    begin: async (attempts: readonly NewAttempt[]): Promise<void> => {
      if (attempts.length === 0) return;
      await withdraw();
      await runGuarded((connection) => insertStarted(connection, chainId, attempts));
    },
    finish: async (outcomes: ReadonlyMap<Hex, Outcome>): Promise<void> => {
      if (outcomes.size > 0) await runGuarded((connection) => updateFinished(connection, chainId, outcomes, clock()));
    },
    /**
     * Deletes a transaction that no node accepted and, unless requests are kept, its settlements without other transactions. If that fails,
     * `begin` deletes it first; otherwise the next process would send it in addition to another transaction of the same settlement.
     */
    withdraw: ({ hash }: Attempt): Promise<void> => withdraw(hash),
    unfinished: (): Promise<readonly UnfinishedSettlement[]> =>
      store.transaction((connection) => readUnfinished(connection, chainId, store)),
    /** Deletes at most `max` settlements finished before the given time, oldest first. Returns the number deleted. */
    prune: (beforeMs: number, max: number): Promise<number> => store.change(deleteFinishedSql, [beforeMs, max]),
  };
}

// "state <> 'failed'" lets both databases use the authorization index.
const paidSql = `SELECT 1 AS paid FROM settlement WHERE chain_id = $1 AND COALESCE(nonce_space, asset) = $2 AND payer = $3
  AND state <> 'failed' AND state = 'settled' LIMIT 1`;

// The contract is a literal, which lets both databases use the partial index of deposits.
const depositSql = `SELECT 1 AS deposited FROM settlement WHERE contract = '${channelsAddress.toLowerCase()}'
  AND chain_id = $1 AND asset = $2 AND lower(pay_to) = $3 AND state = 'settled'`;

const callSql = "SELECT call_data FROM settlement WHERE chain_id = $1 AND id = $2";

/** Creates checks of one chain's records in the ledger, as long as it retains them. Each throws `StoreError`. */
export function createRecordChecks({ chainId, store }: Readonly<{ chainId: number; store: Pick<SqlStore, "rows"> }>) {
  return {
    findCall: async (id: Hex): Promise<Hex | undefined> => {
      const [row] = await store.rows(callSql, [chainId, id]);
      return row && (String(row["call_data"]) as Hex);
    },
    /** Returns whether a deposit into a channel is recorded as settled. */
    hasDeposit: async ({ asset, payTo, payer, callStart }: DepositKey): Promise<boolean> => {
      const values = [chainId, asset, payTo, callStart, ...(payer === undefined ? [] : [payer])];
      const callStartSql = `AND substr(call_data, 1, ${callStart.length}) = $4`;
      const text = `${depositSql} ${callStartSql} ${payer === undefined ? "" : "AND payer = $5"} LIMIT 1`;
      const lower = values.map((value) => (typeof value === "string" ? value.toLowerCase() : value));
      return (await store.rows(text, lower)).length > 0;
    },
    /** Returns whether a payment by the payer was settled in the same token or, if this one is by Permit2, in any token by Permit2. */
    hasPaid: async (payment: SuspendablePayment) => {
      const values = [chainId, getNonceSpace(payment).toLowerCase(), payment.payer.toLowerCase()];
      return (await store.rows(paidSql, values)).length > 0;
    },
  };
}

/**
 * Records a settlement with its outcome, unless it, or another one with its authorization nonce, is already recorded. Any replica may do
 * this, because none of our transactions executed it. Returns whether it was newly recorded.
 */
export function recordForeign(
  { chainId, store, clock }: Readonly<{ chainId: number }> & Pick<LedgerDependencies, "store" | "clock">,
  settlement: Settlement,
  outcome: Outcome,
): Promise<boolean> {
  return store.transaction(async (connection) => {
    const isNew = (await insertSettlements(connection, chainId, [settlement], "")) === 1;
    if (isNew) await updateFinished(connection, chainId, new Map([[settlement.id, outcome]]), clock());
    return isNew;
  });
}

/** Returns how many settlements were not recorded before; a conflict on another key throws. */
export function insertSettlements(
  connection: SqlConnection,
  chainId: number,
  settlements: readonly Settlement[],
  key: "(chain_id, id)" | "" = "(chain_id, id)",
): Promise<number> {
  const rows = settlements.map((settlement) => toSettlementRow(chainId, settlement));
  const text = `INSERT INTO settlement (${settlementColumns}) VALUES ${formatValues(rows)} ON CONFLICT ${key} DO NOTHING`;
  return connection.change(text, rows.flat());
}

async function insertStarted(connection: SqlConnection, chainId: number, items: readonly NewAttempt[]): Promise<void> {
  const settlements = items.map(({ settlement }) => settlement);
  await insertSettlements(connection, chainId, settlements);
  const attempts = items.map(({ settlement, attempt }) => toAttemptRow(chainId, settlement.id, attempt));
  await connection.change(`INSERT INTO attempt (${attemptColumns}) VALUES ${formatValues(attempts)}`, attempts.flat());
}

/** Creates the function that deletes a rejected transaction, if given, and all whose deletion failed earlier. */
function createWithdrawals(remove: (hashes: readonly Hex[]) => Promise<void>): (hash?: Hex) => Promise<void> {
  const rejectedIds = new Set<Hex>();
  let withdrawn = Promise.resolve();
  const run = async (): Promise<void> => {
    const hashes = [...rejectedIds];
    if (hashes.length === 0) return;
    await remove(hashes);
    for (const hash of hashes) rejectedIds.delete(hash);
  };
  return async (hash) => {
    if (hash !== undefined) rejectedIds.add(hash);
    if (rejectedIds.size === 0) return;
    // Runs withdrawals one at a time, so that none deletes a transaction that was started again with the same bytes in the meantime.
    withdrawn = withdrawn.then(run, run);
    await withdrawn;
  };
}

/** Deletes transactions and, unless requests are kept, their settlements without other transactions. */
async function deleteAttempts(
  connection: SqlConnection,
  { chainId, keepsRequests }: Readonly<{ chainId: number; keepsRequests: boolean }>,
  hashes: readonly Hex[],
): Promise<void> {
  for (const hash of hashes)
    for (const row of await connection.rows(deleteAttemptSql, [chainId, hash]))
      if (!keepsRequests) await connection.change(deleteChildlessSql, [chainId, String(row["settlement_id"])]);
}

/** Records outcomes; both databases name the columns of VALUES `column1`, `column2`, …. */
async function updateFinished(
  connection: SqlConnection,
  chainId: number,
  outcomes: ReadonlyMap<Hex, Outcome>,
  nowMs: number,
): Promise<void> {
  const rows = [...outcomes].map(([id, outcome]): readonly SqlValue[] => {
    const [reason, message] = outcome.state === "failed" ? [outcome.reason, outcome.message] : [null, null];
    return [id, outcome.state, outcome.transaction, reason, message];
  });
  const values = rows.flat();
  await connection.change(
    `UPDATE settlement SET state = column2, transaction_hash = column3, reason = column4, message = column5,
        finished_at_ms = $${values.length + 1}
      FROM (VALUES ${formatValues(rows)}) AS outcome WHERE chain_id = $${values.length + 2} AND id = column1`,
    [...values, nowMs, chainId],
  );
  // Once a payment has an outcome, a single verification has no effect.
  const ids = [...outcomes.keys()];
  const names = ids.map((_, index) => `$${index + 2}`).join(", ");
  await connection.change(`DELETE FROM verification WHERE chain_id = $1 AND times = 1 AND id IN (${names})`, [
    chainId,
    ...ids,
  ]);
}

async function readUnfinished(
  { rows }: Pick<SqlConnection, "rows">,
  chainId: number,
  { isListed }: Pick<SqlStore, "isListed">,
): Promise<readonly UnfinishedSettlement[]> {
  const settlements = await rows(startedSql, [chainId]);
  const attempts = await readAttempts(await rows(attemptsSql, [chainId]), chainId, { rows, isListed });
  return settlements.map((row) => ({ settlement: toSettlement(row), attempts: attempts.get(String(row["id"])) ?? [] }));
}
