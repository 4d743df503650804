import type { Method, Param } from "./method.ts";
import {
  block,
  blockHash,
  blockNumberOrHash,
  byBlock,
  byHash,
  callObject,
  never,
  defineNodeMethod,
  perHead,
  tracerOptions,
  transactionHash,
  dataParamsBytes,
  listParamsBytes,
} from "./method-parts.ts";

const traceTimeoutMs = 30_000;

function defineRawMethod(name: string, summary: string, param: Param): Method {
  return defineNodeMethod({ name, summary, params: [param], result: "data", cache: byBlock(0), costUnits: 30 });
}

/** Specification, "Debug and trace methods". Where a tracer can be specified, only `callTracer` is allowed. */
export const debugMethods: readonly Method[] = [
  defineNodeMethod({
    name: "debug_traceTransaction",
    summary: "Call trace of a transaction",
    params: [transactionHash, tracerOptions],
    result: "trace object",
    limit: { kind: "tracer", at: 1 },
    cache: perHead,
    costUnits: 150,
    timeoutMs: traceTimeoutMs,
  }),
  defineNodeMethod({
    name: "debug_traceCall",
    summary: "Call trace of a simulated call",
    params: [callObject, block, tracerOptions],
    result: "trace object",
    limit: { kind: "tracer", at: 2, overrides: true },
    cache: byBlock(1),
    paramsBytes: dataParamsBytes,
    costUnits: 150,
    timeoutMs: traceTimeoutMs,
  }),
  defineNodeMethod({
    name: "debug_traceBlockByHash",
    summary: "Call traces of all transactions in a block",
    params: [blockHash, tracerOptions],
    result: "array of traces",
    limit: { kind: "tracer", at: 1 },
    cache: byHash,
    costUnits: 400,
    timeoutMs: traceTimeoutMs,
  }),
  defineNodeMethod({
    name: "debug_traceBlockByNumber",
    summary: "Call traces of all transactions in a block",
    params: [block, tracerOptions],
    result: "array of traces",
    limit: { kind: "tracer", at: 1 },
    cache: byBlock(0),
    costUnits: 400,
    timeoutMs: traceTimeoutMs,
  }),
  defineRawMethod("debug_getRawBlock", "RLP of a block", blockNumberOrHash),
  defineRawMethod("debug_getRawHeader", "RLP of a block's header", blockNumberOrHash),
  defineNodeMethod({
    name: "debug_getRawReceipts",
    summary: "RLP of a block's receipts",
    params: [blockNumberOrHash],
    result: "array of data",
    cache: byBlock(0),
    costUnits: 40,
  }),
  defineNodeMethod({
    name: "debug_getRawTransaction",
    summary: "RLP of a transaction",
    params: [transactionHash],
    result: "data",
    cache: perHead,
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "debug_protocolVersion",
    summary: "Protocol versions known to the node",
    params: [],
    result: "protocol version info",
    audience: "private",
    cache: never,
    costUnits: 5,
  }),
  defineNodeMethod({
    name: "trace_filter",
    summary: "Traces in a range of blocks, by sender and receiver",
    params: [{ name: "filter", shape: "traceFilter" }],
    result: "array of traces",
    limit: { kind: "traceRange" },
    cache: { kind: "logs" },
    paramsBytes: listParamsBytes,
    costUnits: 300,
    timeoutMs: traceTimeoutMs,
  }),
];
