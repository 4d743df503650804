import { getNonceSpace } from "../../chain/transfer-method.ts";
import type { SqlRow, SqlStore, SqlValue } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { Reason } from "#x402/reason.ts";
import type { Attempt, RecordedSettlement, Settlement } from "../settlement.ts";

/** Returns the key of an authorization. Addresses are lowercase, so that equal addresses compare equal. */
export function toAuthorizationKey(
  settlement: Pick<Settlement, "asset" | "contract" | "payer" | "authorizationNonce" | "callData">,
): readonly [string, string, string] {
  const { payer, authorizationNonce } = settlement;
  return [getNonceSpace(settlement).toLowerCase(), payer.toLowerCase(), authorizationNonce.toLowerCase()];
}

/** Converts a started settlement to a row of table `settlement`, in the order of `settlementColumns`. */
export function toSettlementRow(chainId: number, settlement: Settlement): readonly SqlValue[] {
  const { id, contract, payTo, amount, validBefore, callData, begunAtMs, owner = null } = settlement;
  const [nonceSpace, payer, nonce] = toAuthorizationKey(settlement);
  const asset = settlement.asset.toLowerCase();
  const texts = [String(amount), nonce, String(validBefore), callData] as const;
  return [chainId, id, asset, nonceSpace, contract.toLowerCase(), payer, payTo, ...texts, begunAtMs, "begun", owner];
}

export const settlementColumns =
  "chain_id, id, asset, nonce_space, contract, payer, pay_to, amount, authorization_nonce, valid_before, call_data, begun_at_ms, state, owner";

export function toAttemptRow(chainId: number, settlementId: Hex, attempt: Attempt): readonly SqlValue[] {
  const { hash, signer, nonce, rawTransaction, maxFeePerGas, maxPriorityFeePerGas, signedAtMs } = attempt;
  const { index, size } = attempt.batch ?? { index: 0, size: 1 };
  const fees = [String(maxFeePerGas), String(maxPriorityFeePerGas)] as const;
  const bytes = index === 0 ? rawTransaction : "";
  return [chainId, settlementId, hash, signer, nonce, bytes, ...fees, signedAtMs, index, size];
}

export const attemptColumns =
  "chain_id, settlement_id, hash, signer, nonce, raw_transaction, max_fee_per_gas, max_priority_fee_per_gas, signed_at_ms, batch_index, batch_size";

export function toRecordedSettlement(row: SqlRow): RecordedSettlement {
  const owner = toOwner(row);
  if (row["state"] === "begun") {
    return {
      state: "begun",
      owner,
      ...(typeof row["newest"] === "string" ? { transaction: readHex(row, "newest") } : {}),
    };
  }
  const transaction = readHex(row, "transaction_hash");
  if (row["state"] === "settled")
    return { state: "settled", transaction, amount: BigInt(String(row["amount"])), owner };
  const [reason, message] = [String(row["reason"]) as Reason, String(row["message"])];
  return { state: "failed", transaction, reason, message, owner };
}

function toOwner({ owner }: SqlRow): string | undefined {
  return typeof owner === "string" ? owner : undefined;
}

export function toSettlement(row: SqlRow): Settlement {
  return {
    id: readHex(row, "id"),
    asset: readHex(row, "asset"),
    contract: readHex(row, typeof row["contract"] === "string" ? "contract" : "asset"),
    payer: readHex(row, "payer"),
    payTo: readHex(row, "pay_to"),
    amount: BigInt(String(row["amount"])),
    authorizationNonce: readHex(row, "authorization_nonce"),
    validBefore: BigInt(String(row["valid_before"])),
    callData: readHex(row, "call_data"),
    begunAtMs: Number(row["begun_at_ms"]),
    owner: toOwner(row),
  };
}

/**
 * Reads rows of table `attempt`, by settlement. A transaction with several settlements has its bytes in the row of the
 * first; they are omitted once retention has deleted that row.
 */
export async function readAttempts(
  attemptRows: readonly SqlRow[],
  chainId: number,
  { rows, isListed }: Pick<SqlStore, "rows" | "isListed">,
): Promise<ReadonlyMap<string, readonly Attempt[]>> {
  const hashes = new Set(attemptRows.filter((row) => row["raw_transaction"] === "").map((row) => readHex(row, "hash")));
  const text = `SELECT hash, raw_transaction FROM attempt WHERE chain_id = $1 AND batch_index = 0 AND ${isListed("hash", "$2")}`;
  const listedRows = hashes.size === 0 ? [] : await rows(text, [chainId, [...hashes].join(",")]);
  const bytes = new Map(
    [...attemptRows.filter((row) => row["raw_transaction"] !== ""), ...listedRows].map(
      (row) => [row["hash"], readHex(row, "raw_transaction")] as const,
    ),
  );
  const rowsBySettlement = Map.groupBy(attemptRows, (row) => String(row["settlement_id"]));
  const read = (row: SqlRow) => {
    const raw = bytes.get(row["hash"]);
    return raw === undefined ? [] : [toAttempt(row, raw)];
  };
  return new Map([...rowsBySettlement].map(([id, ownRows]) => [id, ownRows.flatMap(read)]));
}

function toAttempt(row: SqlRow, rawTransaction: Hex): Attempt {
  const size = Number(row["batch_size"]);
  return {
    hash: readHex(row, "hash"),
    signer: readHex(row, "signer"),
    nonce: Number(row["nonce"]),
    rawTransaction,
    maxFeePerGas: BigInt(String(row["max_fee_per_gas"])),
    maxPriorityFeePerGas: BigInt(String(row["max_priority_fee_per_gas"])),
    signedAtMs: Number(row["signed_at_ms"]),
    ...(size > 1 && { batch: { index: Number(row["batch_index"]), size } }),
  };
}

function readHex(row: SqlRow, column: string): Hex {
  return String(row[column]) as Hex;
}
