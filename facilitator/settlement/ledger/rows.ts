import { getNonceSpace } from "../../chain/transfer-method.ts";
import type { SqlRow, SqlValue } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import type { Reason } from "#x402/reason.ts";
import type { Attempt, Recorded, Settlement } from "../settlement.ts";

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

/** Columns returned by {@link toSettlementRow}. */
export const settlementColumns =
  "chain_id, id, asset, nonce_space, contract, payer, pay_to, amount, authorization_nonce, valid_before, call_data, begun_at_ms, state, owner";

/** Converts an attempt to a row of table `attempt`, in the order of `attemptColumns`. */
export function toAttemptRow(chainId: number, settlementId: Hex, attempt: Attempt): readonly SqlValue[] {
  const { hash, signer, nonce, rawTransaction, maxFeePerGas, maxPriorityFeePerGas, signedAtMs } = attempt;
  const fees = [String(maxFeePerGas), String(maxPriorityFeePerGas)] as const;
  return [chainId, settlementId, hash, signer, nonce, rawTransaction, ...fees, signedAtMs];
}

/** Columns returned by {@link toAttemptRow}. */
export const attemptColumns =
  "chain_id, settlement_id, hash, signer, nonce, raw_transaction, max_fee_per_gas, max_priority_fee_per_gas, signed_at_ms";

/** Reads the state of a settlement. Column `newest`, if selected, is the transaction of an in-flight settlement. */
export function toRecorded(row: SqlRow): Recorded {
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

/** Reads a row of table `settlement`. */
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

/** Reads a row of table `attempt`. */
export function toAttempt(row: SqlRow): Attempt {
  return {
    hash: readHex(row, "hash"),
    signer: readHex(row, "signer"),
    nonce: Number(row["nonce"]),
    rawTransaction: readHex(row, "raw_transaction"),
    maxFeePerGas: BigInt(String(row["max_fee_per_gas"])),
    maxPriorityFeePerGas: BigInt(String(row["max_priority_fee_per_gas"])),
    signedAtMs: Number(row["signed_at_ms"]),
  };
}

function readHex(row: SqlRow, column: string): Hex {
  return String(row[column]) as Hex;
}
