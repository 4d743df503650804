import * as AbiFunction from "ox/AbiFunction";
import * as AbiParameters from "ox/AbiParameters";
import { canonicalContracts } from "./contracts.ts";
import type { Hex } from "./hex.ts";

/** Canonical Multicall3, which executes several calls in one transaction. */
export const multicall3Address = canonicalContracts.multicall3.address;

export type ContractCall = Readonly<{ to: Hex; data: Hex }>;

/** Signature for a contract wallet (ERC-1271), and the call that creates the wallet if it does not exist yet (ERC-6492). */
export type WalletSignature = Readonly<{ signature: Hex; creation: ContractCall | undefined }>;

/** Suffix of a signature that contains its wallet's creation (ERC-6492). */
const creationMark = "6492".repeat(16);

/** Parses bytes, with or without the wallet's creation. Returns undefined for anything else. */
export function parseWalletSignature(text: string): WalletSignature | undefined {
  if (!/^0x(?:[0-9a-f]{2})+$/i.test(text)) return undefined;
  const signature = text.toLowerCase() as Hex;
  if (!signature.endsWith(creationMark)) return { signature, creation: undefined };
  try {
    const wrapped = signature.slice(0, -creationMark.length) as Hex;
    const [to, data, inner] = AbiParameters.decode(AbiParameters.from("address, bytes, bytes"), wrapped);
    return { signature: inner, creation: { to, data } };
  } catch {
    // The library throws for bytes that are not this encoding.
    return undefined;
  }
}

const aggregate3 = AbiFunction.from(
  "function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[] results)",
);

/** Encodes calls as one Multicall3 call. A call that `mayFail` does not revert the others. */
export function encodeMulticall(calls: readonly Readonly<ContractCall & { mayFail: boolean }>[]): Hex {
  return AbiFunction.encodeData(aggregate3, [
    calls.map(({ to, data, mayFail }) => ({ target: to, allowFailure: mayFail, callData: data })),
  ]);
}

/**
 * Parses which Multicall3 calls succeeded.
 *
 * @throws {Error} when the data is not its result.
 */
export function decodeMulticallResult(data: Hex): readonly boolean[] {
  return AbiFunction.decodeResult(aggregate3, data).map(({ success }) => success);
}

/** Prepends the creation of a wallet to a call that needs the wallet, which may already exist. */
export function callAfterCreation(call: ContractCall, creation: ContractCall | undefined): ContractCall {
  if (creation === undefined) return call;
  const data = encodeMulticall([
    { ...creation, mayFail: true },
    { ...call, mayFail: false },
  ]);
  return { to: multicall3Address, data };
}
