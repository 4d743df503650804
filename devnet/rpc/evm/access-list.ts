import type { Hex } from "viem";
import { validatorAddresses } from "../../anvil/validators.ts";
import type { BlockState } from "../block-state.ts";
import type { CallFrame } from "./call-frame.ts";
import { runCall, type ChainCall } from "./chain-call.ts";
import { withGethHalts } from "./halt-tracer.ts";
import type { Node } from "../method.ts";

/** Accounts and slots that a call touches (EIP-2930), and its gas. */
type AccessList = Readonly<{
  accessList: readonly Readonly<{ address: Hex; storageKeys: readonly Hex[] }>[];
  /** Error of a failed call; absent on success. */
  error?: string;
  gasUsed: Hex;
}>;

/** Up to Cancun, precompiled contracts have the addresses 1 to 10. */
const precompiledLast = 10n;

/** Creates a call's access list. A failed call gets a list with the error, as in geth; anvil returns none. */
export async function createAccessList(node: Node, chainCall: ChainCall): Promise<AccessList> {
  const frame = await runTracer<CallFrame>(node, chainCall, "callTracer");
  if (frame.error === undefined) return runCall<AccessList>(node, "eth_createAccessList", chainCall);
  const { call, block, ...overrides } = chainCall;
  const { error = frame.error } = await withGethHalts(node, frame, { call, block, overrides });
  const touched = await runTracer<BlockState>(node, chainCall, "prestateTracer");
  return { accessList: listTouched(touched, frame), error, gasUsed: frame.gasUsed };
}

async function runTracer<T>(node: Node, { call, block, ...overrides }: ChainCall, tracer: string): Promise<T> {
  return node.anvil.request<T>("debug_traceCall", [call, block, { tracer, ...overrides }]);
}

/**
 * Lists the touched accounts. Sender, receiver, proposer and precompiled contracts are warm in every call, so they are listed only if the
 * call touches their storage.
 */
function listTouched(touched: BlockState, { from, to }: CallFrame): AccessList["accessList"] {
  const known = new Set([from, to, ...validatorAddresses]);
  return Object.entries(touched)
    .map(([address, { storage = {} }]) => ({ address: address as Hex, storageKeys: Object.keys(storage) as Hex[] }))
    .filter(({ address, storageKeys }) => storageKeys.length > 0 || !known.has(address))
    .filter(({ address }) => BigInt(address) > precompiledLast);
}
