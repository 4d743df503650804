import { asBinary } from "../json-rpc/read-answer.ts";
import type { ListenerName, ParamShape } from "./method.ts";
import type { ServedMethods } from "./catalogue.ts";

const blockHash = { type: "string", pattern: "^0x[0-9a-fA-F]{64}$" } as const;
const block = { type: "string", pattern: "^(0x[0-9a-fA-F]+|latest|earliest|pending|safe|finalized)$" } as const;

/** EIP-1898: a block specified by number or by hash; with a hash, canonicality may be required. */
const blockObjects = [
  { type: "object", properties: { blockNumber: block }, required: ["blockNumber"] },
  { type: "object", properties: { blockHash, requireCanonical: { type: "boolean" } }, required: ["blockHash"] },
] as const;

const schemas = {
  address: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" },
  block,
  blockHash,
  blockNumberOrHash: { anyOf: [block, ...blockObjects] },
  boolean: { type: "boolean" },
  callObject: { type: "object", properties: { from: {}, to: {}, gas: {}, gasPrice: {}, value: {}, data: {} } },
  data: { type: "string", pattern: "^0x([0-9a-fA-F]{2})*$" },
  hash: { type: "string", pattern: "^0x[0-9a-fA-F]{64}$" },
  logFilter: { type: "object", properties: { fromBlock: {}, toBlock: {}, address: {}, topics: {}, blockHash: {} } },
  percentiles: { type: "array", items: { type: "number" } },
  quantity: { type: "string", pattern: "^0x[0-9a-fA-F]+$" },
  storageKeys: { type: "array", items: { type: "string", pattern: "^0x[0-9a-fA-F]{1,64}$" } },
  subscriptionId: { type: "string", pattern: "^0x[0-9a-f]{32}$" },
  subscriptionType: { type: "string", enum: ["newHeads", "logs"] },
  traceFilter: {
    type: "object",
    properties: { fromBlock: {}, toBlock: {}, fromAddress: {}, toAddress: {}, count: {}, after: {} },
  },
  tracerOptions: { type: "object", properties: { tracer: { const: "callTracer" }, tracerConfig: {}, timeout: {} } },
} as const satisfies Record<ParamShape, object>;

/** Builds the OpenRPC 1.3 document that describes a listener's methods: the response to `rpc.discover`. */
export function buildOpenRpcDocument(served: ServedMethods, listener: ListenerName) {
  return {
    openrpc: "1.3.2",
    info: { title: "Gatehouse", description: `Methods of the ${listener} listener.`, version: "1" },
    methods: [...served[listener].values()].map((method) => ({
      name: method.name,
      summary: method.summary,
      paramStructure: "by-position",
      params: method.params.map((param) => ({
        name: param.name,
        required: param.optional !== true,
        schema: schemas[param.shape],
      })),
      result: { name: "result", description: method.result, schema: {} },
      "x-compute-units": method.costUnits,
    })),
  };
}

/** Serializes each listener's document once, as JSON in a binary string. */
export function formatOpenRpcDocuments(served: ServedMethods): (listener: ListenerName) => string {
  const texts = new Map<ListenerName, string>();
  return (listener) => {
    const text = texts.get(listener) ?? asBinary(JSON.stringify(buildOpenRpcDocument(served, listener)));
    texts.set(listener, text);
    return text;
  };
}
