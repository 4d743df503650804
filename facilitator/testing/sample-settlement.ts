import * as TxEnvelopeEip1559 from "ox/TxEnvelopeEip1559";
import type { Hex } from "#x402/hex.ts";
import type { Attempt, Settlement } from "../settlement/settlement.ts";

/** Time of samples, in milliseconds since 1970. */
export const sampleMs = 1_800_000_000_000;

/** A settlement whose authorization is valid for five minutes of sample time. */
export const sampleSettlement: Settlement = {
  id: `0x${"1d".repeat(32)}`,
  asset: `0x${"a5".repeat(20)}`,
  contract: `0x${"a5".repeat(20)}`,
  payer: `0x${"01".repeat(20)}`,
  payTo: `0x${"02".repeat(20)}`,
  amount: 10_000n,
  authorizationNonce: `0x${"0c".repeat(32)}`,
  validBefore: BigInt(sampleMs / 1_000 + 300),
  callData: "0xe3ee160e",
  begunAtMs: sampleMs - 2_000,
  owner: "sample",
};

/** Returns a channel between the payer and the seller of a settlement, as `batch-settlement` encodes it in call data. */
export function buildChannelConfig({ payer, payTo, asset }: Settlement) {
  return {
    payer,
    payerAuthorizer: payer,
    receiver: payTo,
    receiverAuthorizer: payTo,
    token: asset,
    withdrawDelay: 900,
    salt: `0x${"00".repeat(32)}`,
  } as const;
}

/** Encodes a transaction with this gas limit, as if it were signed. */
export function encodeSample(gas: bigint): Hex {
  return TxEnvelopeEip1559.serialize({ type: "eip1559", chainId: 1_672, gas });
}

/** The transaction of that settlement, signed one second ago. */
export const sampleAttempt: Attempt = {
  hash: `0x${"aa".repeat(32)}`,
  signer: `0x${"51".repeat(20)}`,
  nonce: 5,
  rawTransaction: encodeSample(78_000n),
  maxFeePerGas: 2n,
  maxPriorityFeePerGas: 1n,
  signedAtMs: sampleMs - 1_000,
};
