import type { Hex } from "viem";
import { toGethHalt } from "./evm-halt.ts";

/** One call in the format of geth's `callTracer`. */
export type CallFrame = Readonly<{
  type: string;
  from: Hex;
  to?: Hex;
  value?: Hex;
  gas: Hex;
  gasUsed: Hex;
  input: Hex;
  output?: Hex;
  error?: string;
  revertReason?: string;
  calls?: readonly CallFrame[];
}>;

/** One call in the format of OpenEthereum's trace module, which the chain retains permanently. */
export type ParityTrace = Readonly<{
  type: "call" | "create" | "suicide" | "reward";
  action: Readonly<{
    from?: Hex;
    to?: Hex;
    gas?: Hex;
    value?: Hex;
    input?: Hex;
    init?: Hex;
    callType?: string;
    creationMethod?: string;
    address?: Hex;
    refundAddress?: Hex;
    balance?: Hex;
  }>;
  result?: Readonly<{ gasUsed?: Hex; output?: Hex; address?: Hex; code?: Hex }> | null;
  error?: string;
  traceAddress: readonly number[];
}>;

/** Gas of the whole transaction, shown in its outermost frame. */
export type TransactionGas = Readonly<{ gas: Hex; gasUsed: Hex }>;

/**
 * Corrects the outermost frame. Geth shows the transaction's gas limit and gas used, including the intrinsic gas; anvil shows the gas limit
 * without the intrinsic gas, and the gas that the block has used so far.
 */
export function withTransactionGas(frame: CallFrame, { gas, gasUsed }: TransactionGas): CallFrame {
  return { ...frame, gas, gasUsed };
}

/**
 * Builds a transaction's frames from its retained traces, for use when the state needed to trace it with anvil is pruned.
 *
 * @throws {RangeError} when there is no outermost trace.
 */
export function buildFrames(traces: readonly ParityTrace[], onlyTopCall: boolean): CallFrame {
  const root = traces.find(({ traceAddress }) => traceAddress.length === 0);
  if (root === undefined) throw new RangeError("a transaction's traces begin with its outermost call");
  return buildFrame(root, onlyTopCall ? [] : traces);
}

function buildFrame(trace: ParityTrace, all: readonly ParityTrace[]): CallFrame {
  const children = all.filter((other) => isChild(other.traceAddress, trace.traceAddress));
  const calls = children.map((child) => buildFrame(child, all));
  return { ...buildOwnFrame(trace), ...(calls.length === 0 ? {} : { calls }) };
}

function isChild(address: readonly number[], parent: readonly number[]): boolean {
  return address.length === parent.length + 1 && parent.every((step, index) => address[index] === step);
}

function buildOwnFrame(trace: ParityTrace): CallFrame {
  const { action, result } = trace;
  if (trace.type === "suicide") {
    return {
      from: action.address ?? "0x",
      gas: "0x0",
      gasUsed: "0x0",
      ...(action.refundAddress === undefined ? {} : { to: action.refundAddress }),
      input: "0x",
      value: action.balance ?? "0x0",
      type: "SELFDESTRUCT",
    };
  }
  const to = trace.type === "create" ? result?.address : action.to;
  const output = trace.type === "create" ? result?.code : result?.output;
  const type = trace.type === "create" ? (action.creationMethod ?? "create") : (action.callType ?? "call");
  return {
    from: action.from ?? "0x",
    gas: action.gas ?? "0x0",
    gasUsed: result?.gasUsed ?? action.gas ?? "0x0",
    ...(to === undefined ? {} : { to }),
    input: (trace.type === "create" ? action.init : action.input) ?? "0x",
    ...(output === undefined || output === "0x" ? {} : { output }),
    ...(trace.error === undefined ? {} : { error: toGethHalt(trace.error) }),
    ...(type === "staticcall" ? {} : { value: action.value ?? "0x0" }),
    type: type.toUpperCase(),
  };
}
