import type { Hex } from "viem";
import type { z } from "zod";
import { AnvilRequestError } from "../anvil/anvil-request.ts";
import { readBlock, type Block, type Receipt } from "./block-reader.ts";
import { checkCall } from "./chain-call.ts";
import { framesOf, withTransactionGas, type CallFrame, type ParityTrace } from "./call-frame.ts";
import { withGethHalts } from "./frame-halts.ts";
import { intrinsicGas } from "./intrinsic-gas.ts";
import type { MethodGroup, Node } from "./method.ts";
import { blockNumberOrTag, callObject, hash, readParams, stateBlock } from "./params.ts";
import { PrunedStateError } from "./pruned-state.ts";
import { errorCode, RpcError } from "./rpc-error.ts";
import { traceFilter } from "./trace-filter.ts";
import { readTracerOptions, tracerOptions, type CallTracerOptions } from "./tracer-options.ts";

/** Traces, made by `callTracer`. */
export function traceMethods(node: Node): MethodGroup {
  const ofBlock = (id: z.ZodType<string>) => async (params: readonly unknown[]) => {
    const [block, given] = readParams([id, tracerOptions], params);
    return traceBlock(node, await requireTraceable(node, block), readTracerOptions(given));
  };
  return {
    debug_traceTransaction: async (params) => {
      const [transaction, given] = readParams([hash, tracerOptions], params);
      return traceTransaction(node, transaction, readTracerOptions(given));
    },
    debug_traceCall: async (params) => {
      const [call, block, given] = readParams([callObject, stateBlock.optional(), tracerOptions], params);
      return traceCall(node, call, block ?? "latest", readTracerOptions(given));
    },
    debug_traceBlockByHash: ofBlock(hash),
    debug_traceBlockByNumber: ofBlock(blockNumberOrTag),
    trace_filter: (params) => traceFilter(node, params),
  };
}

/** @throws {RpcError} -32000 with geth's texts for the genesis, and for a block that is not there. */
async function requireTraceable(node: Node, id: string): Promise<Block> {
  const block = await readBlock(node, id);
  if (block === null) throw new RpcError(errorCode.server, `block ${blockName(id)} not found`);
  if (Number(block.number) === 0) throw new RpcError(errorCode.server, "genesis is not traceable");
  return block;
}

function blockName(id: string): string {
  return id.startsWith("0x") && id.length < 66 ? `#${BigInt(id)}` : id;
}

async function traceBlock(node: Node, block: Block, options: CallTracerOptions) {
  const results: { txHash: Hex; result: CallFrame }[] = [];
  for (const txHash of block.transactions) {
    results.push({ txHash, result: await traceTransaction(node, txHash, options) });
  }
  return results;
}

async function traceTransaction(node: Node, transaction: Hex, options: CallTracerOptions): Promise<CallFrame> {
  const [receipt, body] = await Promise.all([
    node.anvil.request<Receipt | null>("eth_getTransactionReceipt", [transaction]),
    node.anvil.request<{ gas: Hex } | null>("eth_getTransactionByHash", [transaction]),
  ]);
  if (receipt === null || body === null) throw new RpcError(errorCode.server, "transaction not found");
  const frame = await withGethHalts(node, await traceAgain(node, transaction, options), { transaction });
  return withTransactionGas(frame, { gas: body.gas, gasUsed: receipt.gasUsed });
}

/** Runs the transaction again where the state before it is still there; otherwise takes the traces that were kept. */
async function traceAgain(node: Node, transaction: Hex, options: CallTracerOptions): Promise<CallFrame> {
  try {
    return await node.anvil.request<CallFrame>("debug_traceTransaction", [transaction, options]);
  } catch (error) {
    if (!(error instanceof AnvilRequestError || error instanceof PrunedStateError)) throw error;
    if (options.tracerConfig.withLog === true) {
      throw new RpcError(errorCode.server, "the transaction's state is pruned; its logs are in its receipt");
    }
  }
  const traces = await node.anvil.request<readonly ParityTrace[]>("trace_transaction", [transaction]);
  return framesOf(traces, options.tracerConfig.onlyTopCall === true);
}

type Call = z.output<typeof callObject>;

async function traceCall(node: Node, call: Call, block: z.output<typeof stateBlock>, options: CallTracerOptions) {
  checkCall(call);
  const traced = await node.anvil.request<CallFrame>("debug_traceCall", [call, block, options]);
  const { stateOverrides, blockOverrides } = options;
  const overrides = { stateOverrides, blockOverrides };
  const frame = await withGethHalts(node, traced, { call, block, overrides });
  // Geth shows the gas that the call was given, anvil what is left of it when the call begins.
  const given = BigInt(frame.gas) + BigInt(intrinsicGas({ to: call.to, data: call.input ?? call.data }));
  return { ...frame, gas: call.gas ?? `0x${given.toString(16)}` };
}
