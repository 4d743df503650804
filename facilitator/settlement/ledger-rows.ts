import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Hex } from "../payment/hex.ts";
import type { Reason } from "../payment/reason.ts";
import type { Attempt, Outcome, Settlement, Unfinished } from "./settlement.ts";

type Row = Record<string, SQLOutputValue>;

const insertSettlementSql = `INSERT INTO settlement
  (chain_id, id, asset, payer, pay_to, amount, authorization_nonce, valid_before, call_data, begun_at_ms, state)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'begun') ON CONFLICT (chain_id, id) DO NOTHING`;

const insertAttemptSql = `INSERT INTO attempt
  (chain_id, settlement_id, hash, signer, nonce, raw_transaction, max_fee_per_gas, max_priority_fee_per_gas, signed_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const rivalSql = `SELECT 1 FROM settlement
  WHERE chain_id = ? AND asset = ? AND payer = ? AND authorization_nonce = ? AND state <> 'failed' AND id <> ?`;

const updateOutcomeSql = `UPDATE settlement SET state = ?, transaction_hash = ?, reason = ?, message = ?, finished_at_ms = ?
  WHERE chain_id = ? AND id = ?`;

const deleteChildlessSql = `DELETE FROM settlement WHERE chain_id = ? AND state = 'begun' AND id = ?
  AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.chain_id = settlement.chain_id AND settlement_id = settlement.id)`;

/** The statements of the ledger, by what they do. Addresses are kept in lower case, so that equal ones are equal. */
export function ledgerRows(database: DatabaseSync, chainId: number) {
  const sql = (text: string) => database.prepare(text);
  const insertSettlement = sql(insertSettlementSql);
  const insertAttempt = sql(insertAttemptSql);
  const rival = sql(rivalSql);
  const outcome = sql(
    "SELECT state, transaction_hash, reason, message FROM settlement WHERE chain_id = ? AND id = ? AND state <> 'begun'",
  );
  const updateOutcome = sql(updateOutcomeSql);
  const begun = sql("SELECT * FROM settlement WHERE chain_id = ? AND state = 'begun' ORDER BY begun_at_ms");
  const attempts = sql("SELECT * FROM attempt WHERE chain_id = ? AND settlement_id = ? ORDER BY signed_at_ms, rowid");
  const deleteAttempt = sql("DELETE FROM attempt WHERE chain_id = ? AND hash = ? RETURNING settlement_id");
  const deleteChildless = sql(deleteChildlessSql);
  const deleteFinished = sql("DELETE FROM settlement WHERE state <> 'begun' AND finished_at_ms < ?");
  return {
    insertSettlement: (s: Settlement, nowMs: number): void => {
      const { id, asset, payer, payTo, amount, authorizationNonce, validBefore, callData } = s;
      const [assetKey, payerKey, nonceKey] = authorizationKey(asset, payer, authorizationNonce);
      const numbers = [String(amount), nonceKey, String(validBefore)] as const;
      insertSettlement.run(chainId, id, assetKey, payerKey, payTo, ...numbers, callData, nowMs);
    },
    insertAttempt: (id: Hex, a: Attempt): void => {
      const fees = [String(a.maxFeePerGas), String(a.maxPriorityFeePerGas)] as const;
      insertAttempt.run(chainId, id, a.hash, a.signer, a.nonce, a.rawTransaction, ...fees, a.signedAtMs);
    },
    hasRival: (s: Pick<Settlement, "id" | "asset" | "payer" | "authorizationNonce">): boolean =>
      rival.get(chainId, ...authorizationKey(s.asset, s.payer, s.authorizationNonce), s.id) !== undefined,
    outcome: (id: Hex): Outcome | undefined => {
      const row = outcome.get(chainId, id);
      return row === undefined ? undefined : toOutcome(row);
    },
    updateOutcome: (id: Hex, result: Outcome, nowMs: number): void => {
      const [reason, message] = result.state === "failed" ? [result.reason, result.message] : [null, null];
      updateOutcome.run(result.state, result.transaction, reason, message, nowMs, chainId, id);
    },
    unfinished: (): readonly Unfinished[] =>
      begun.all(chainId).map((row) => ({
        settlement: toSettlement(row),
        attempts: attempts.all(chainId, String(row["id"])).map(toAttempt),
      })),
    deleteAttempt: ({ hash }: Attempt): void => {
      const row = deleteAttempt.get(chainId, hash);
      if (row !== undefined) deleteChildless.run(chainId, String(row["settlement_id"]));
    },
    deleteFinished: (beforeMs: number): number => Number(deleteFinished.run(beforeMs).changes),
  };
}

function authorizationKey(asset: Hex, payer: Hex, nonce: Hex): [string, string, string] {
  return [asset.toLowerCase(), payer.toLowerCase(), nonce.toLowerCase()];
}

const hex = (row: Row, column: string): Hex => String(row[column]) as Hex;

function toOutcome(row: Row): Outcome {
  const transaction = hex(row, "transaction_hash");
  if (row["state"] === "settled") return { state: "settled", transaction };
  return { state: "failed", transaction, reason: String(row["reason"]) as Reason, message: String(row["message"]) };
}

function toSettlement(row: Row): Settlement {
  return {
    id: hex(row, "id"),
    asset: hex(row, "asset"),
    payer: hex(row, "payer"),
    payTo: hex(row, "pay_to"),
    amount: BigInt(String(row["amount"])),
    authorizationNonce: hex(row, "authorization_nonce"),
    validBefore: BigInt(String(row["valid_before"])),
    callData: hex(row, "call_data"),
  };
}

function toAttempt(row: Row): Attempt {
  return {
    hash: hex(row, "hash"),
    signer: hex(row, "signer"),
    nonce: Number(row["nonce"]),
    rawTransaction: hex(row, "raw_transaction"),
    maxFeePerGas: BigInt(String(row["max_fee_per_gas"])),
    maxPriorityFeePerGas: BigInt(String(row["max_priority_fee_per_gas"])),
    signedAtMs: Number(row["signed_at_ms"]),
  };
}
