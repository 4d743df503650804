import type { Hex } from "viem";

/** What of a transaction costs gas before it runs. */
export type Intrinsic = Readonly<{
  /** Absent for a contract's creation. */
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

/** Gas that a transaction costs before it runs (Yellow Paper, 6.2; EIP-2028, EIP-2930, EIP-3860), as of Cancun. */
export function intrinsicGas({ to, data, accessList }: Intrinsic): number {
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
