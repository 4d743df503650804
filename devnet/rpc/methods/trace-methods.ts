import type { Hex } from "viem";
import { z } from "zod";
import "#daemon/settings/describe-issue.ts";
import { AnvilRequestError } from "../../anvil/anvil-request.ts";
import { readBlock, type Block, type Receipt } from "../block-reader.ts";
import { checkCall } from "../evm/chain-call.ts";
import { buildFrames, withTransactionGas, type CallFrame, type ParityTrace } from "../evm/call-frame.ts";
import { withGethHalts } from "../evm/halt-tracer.ts";
import { computeIntrinsicGas } from "../raw-transaction.ts";
import type { MethodGroup, Node } from "../method.ts";
import { blockNumberOrTag, callObject, hash, readParams, stateBlock } from "../params.ts";
import { PrunedStateError } from "../evm/pruned-state.ts";
import { errorCode, RpcError } from "../rpc-error.ts";
import { respondToTraceFilter } from "./trace-filter.ts";

/** Creates the methods that trace with `callTracer`, and `trace_filter`. */
export function createTraceMethods(node: Node): MethodGroup {
  const createBlockMethod = (id: z.ZodType<string>) => async (params: readonly unknown[]) => {
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
    debug_traceBlockByHash: createBlockMethod(hash),
    debug_traceBlockByNumber: createBlockMethod(blockNumberOrTag),
    trace_filter: (params) => respondToTraceFilter(node, params),
  };
}

/**
 * @throws {RpcError} -32000 with geth's texts for the genesis, and for a missing block.
 */
async function requireTraceable(node: Node, id: string): Promise<Block> {
  const block = await readBlock(node, id);
  if (block === null) throw new RpcError(errorCode.server, `block ${formatBlockId(id)} not found`);
  if (Number(block.number) === 0) throw new RpcError(errorCode.server, "genesis is not traceable");
  return block;
}

function formatBlockId(id: string): string {
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
  const frame = await withGethHalts(node, await rerun(node, transaction, options), { transaction });
  return withTransactionGas(frame, { gas: body.gas, gasUsed: receipt.gasUsed });
}

/** Reruns the transaction if the state before it is still available; otherwise uses the retained traces. */
async function rerun(node: Node, transaction: Hex, options: CallTracerOptions): Promise<CallFrame> {
  try {
    return await node.anvil.request<CallFrame>("debug_traceTransaction", [transaction, options]);
  } catch (error) {
    if (!(error instanceof AnvilRequestError || error instanceof PrunedStateError)) throw error;
    if (options.tracerConfig.withLog === true) {
      throw new RpcError(errorCode.server, "the transaction's state is pruned; its logs are in its receipt");
    }
  }
  const traces = await node.anvil.request<readonly ParityTrace[]>("trace_transaction", [transaction]);
  return buildFrames(traces, options.tracerConfig.onlyTopCall === true);
}

type Call = z.output<typeof callObject>;

async function traceCall(node: Node, call: Call, block: z.output<typeof stateBlock>, options: CallTracerOptions) {
  checkCall(call);
  const traced = await node.anvil.request<CallFrame>("debug_traceCall", [call, block, options]);
  const { stateOverrides, blockOverrides } = options;
  const overrides = { stateOverrides, blockOverrides };
  const frame = await withGethHalts(node, traced, { call, block, overrides });
  // Geth shows the gas given to the call, anvil the gas left when the call starts.
  const given = BigInt(frame.gas) + BigInt(computeIntrinsicGas({ to: call.to, data: call.input ?? call.data }));
  return { ...frame, gas: call.gas ?? `0x${given.toString(16)}` };
}

const tracerConfig = z.strictObject({
  /** Omits nested calls. */
  onlyTopCall: z.boolean().optional(),
  /** Includes the logs of each call. */
  withLog: z.boolean().optional(),
});

/** Geth's trace options. Those for the struct logger and for the tracer's run are accepted, but `callTracer` ignores them. */
const options = z.strictObject({
  tracer: z.string().optional(),
  tracerConfig: tracerConfig.optional(),
  timeout: z.string().optional(),
  reexec: z.number().optional(),
  disableStorage: z.boolean().optional(),
  disableStack: z.boolean().optional(),
  enableMemory: z.boolean().optional(),
  enableReturnData: z.boolean().optional(),
  limit: z.number().optional(),
  stateOverrides: z.looseObject({}).optional(),
  blockOverrides: z.looseObject({}).optional(),
});

/** Trace options from the caller. */
const tracerOptions = z.looseObject({}).optional();

type CallTracerOptions = Readonly<{
  tracer: "callTracer";
  tracerConfig: Readonly<{ onlyTopCall?: boolean | undefined; withLog?: boolean | undefined }>;
  stateOverrides?: Readonly<Record<string, unknown>> | undefined;
  blockOverrides?: Readonly<Record<string, unknown>> | undefined;
}>;

/**
 * Reads trace options. The default is `callTracer`, the node's only tracer (specification, "Debug and trace methods").
 *
 * @throws {RpcError} -32602 for any other tracer, and for options that `callTracer` does not have.
 */
export function readTracerOptions(given: unknown): CallTracerOptions {
  const tracer = (given as { tracer?: unknown } | undefined)?.tracer ?? "callTracer";
  if (tracer !== "callTracer") {
    const message = `tracer ${JSON.stringify(tracer)} is not supported: only callTracer is supported`;
    throw new RpcError(errorCode.invalidParams, message);
  }
  const parsed = options.safeParse(given ?? {});
  if (!parsed.success) throw new RpcError(errorCode.invalidParams, `invalid tracer options: ${describe(parsed.error)}`);
  const { tracerConfig: config = {}, stateOverrides, blockOverrides } = parsed.data;
  return {
    tracer,
    tracerConfig: config,
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    ...(blockOverrides === undefined ? {} : { blockOverrides }),
  };
}

function describe(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => [...path, message].join(": ")).join("; ");
}
