import type { Hex, TransactionSerialized } from "viem";
import { errorCode, RpcError } from "./rpc-error.ts";

/** Digits of the leading bytes: `0x` and one byte. */
const typeDigits = 4;

/**
 * Rejects, with geth's texts, a signed transaction that can never be in a block: one signed for another chain (EIP-155), or one whose gas
 * does not cover its intrinsic cost. Anvil would respond with a hash and drop the transaction.
 *
 * @throws {RpcError} -32000.
 */
export async function checkRawTransaction(raw: Hex, chainId: () => Promise<number>): Promise<void> {
  checkType(raw);
  // Loaded on first use, to keep the node's start fast.
  const { BaseError, parseTransaction } = await import("viem");
  try {
    const transaction = parseTransaction(raw as TransactionSerialized);
    const signedFor = transaction.chainId;
    const own = await chainId();
    if (signedFor !== undefined && signedFor !== own) {
      refuse(`invalid sender: invalid chain id for signer: have ${signedFor} want ${own}`);
    }
    const needed = computeIntrinsicGas(transaction);
    const gas = transaction.gas ?? 0n;
    if (gas < needed) refuse(`intrinsic gas too low: gas ${gas}, minimum needed ${needed}`);
  } catch (error) {
    // The chain rejects what can't be parsed here.
    if (!(error instanceof BaseError)) throw error;
  }
}

/** Rejects envelopes that the specification does not list. It lists legacy (an RLP list), EIP-2930 and EIP-1559. */
function checkType(raw: Hex): void {
  const first = Number.parseInt(raw.slice(2, typeDigits), 16);
  if (Number.isNaN(first)) refuse("failed to decode the signed transaction");
  if (first >= 0xc0 || first === 1 || first === 2) return;
  refuse("transaction type not supported");
}

function refuse(message: string): never {
  throw new RpcError(errorCode.server, message);
}

/** Parts of a transaction that cost gas before it runs. */
export type Intrinsic = Readonly<{
  /** Absent for contract creation. */
  to?: string | null | undefined;
  data?: Hex | null | undefined;
  accessList?: readonly Readonly<{ storageKeys: readonly unknown[] }>[] | null | undefined;
}>;

const transactionGas = 21_000;
const creationGas = 32_000;
const zeroByteGas = 4;
const otherByteGas = 16;
const initCodeWordGas = 2;
const listedAddressGas = 2_400;
const listedKeyGas = 1_900;

/** Computes the gas that a transaction costs before it runs (Yellow Paper, 6.2; EIP-2028, EIP-2930, EIP-3860), as of Cancun. */
export function computeIntrinsicGas({ to, data, accessList }: Intrinsic): number {
  const bytes = Buffer.from((data ?? "0x").slice(2), "hex");
  const zeros = bytes.reduce((count, byte) => (byte === 0 ? count + 1 : count), 0);
  const creates = to === undefined || to === null;
  const creation = creates ? creationGas + initCodeWordGas * Math.ceil(bytes.length / 32) : 0;
  const listed = (accessList ?? []).reduce(
    (sum, entry) => sum + listedAddressGas + listedKeyGas * entry.storageKeys.length,
    0,
  );
  return transactionGas + creation + zeros * zeroByteGas + (bytes.length - zeros) * otherByteGas + listed;
}
