import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CompletedCall } from "../observe/meter.ts";
import type { Tracing } from "../observe/otlp-tracing.ts";
import { createTextSink } from "../responses/text-sink.ts";
import { createTestContext } from "../testing/test-context.ts";
import type { NodeCall } from "../upstream/node-call.ts";
import { createMessageHandler } from "./message-handler.ts";

const tier = {
  requestsPerSecond: 100,
  requestBurst: 30,
  computeUnitsPerSecond: 1_000,
  computeUnitBurst: 450,
  concurrency: 12,
};

const trace = {
  sampledTraceId: undefined,
  requestNode: () => ({ traceparent: "", tracestate: undefined }),
  end: () => undefined,
};
/** Gives each call of a batch its own trace, so that none is a plain read. */
const tracing: Tracing = { call: () => trace, batch: () => ({ call: () => trace, end: () => undefined }) };

/** A gateway without sockets, with or without plain reads; its node responds when the test triggers it, and no rate limit recovers. */
function startGateway(isPlain: boolean) {
  const sent: NodeCall[] = [];
  const bodies: string[] = [];
  const cancelledCalls: NodeCall[] = [];
  const counts = new Map<string, number>();
  const count = (what: string, more: number) => counts.set(what, (counts.get(what) ?? 0) + more);
  const meter = {
    call: ({ method, outcome }: CompletedCall, calls = 1) => void count(`${method} ${outcome}`, calls),
    node: (method: string, _seconds: number, _traceId?: string, calls = 1) =>
      void count(`${method} at the node`, calls),
    limited: (limit: string) => void count(limit, 1),
  };
  const { context, cache } = createTestContext({
    settings: {
      tiers: { public: tier },
      limits: { batchResponseBytes: 6_000 },
      rateLimit: { freeAnswerKiB: 0, unitsPerAnswerKiB: 3 },
    },
    send: (call) => {
      sent.push(call);
      bodies.push(call.body);
      return { resume: () => undefined, cancel: () => void cancelledCalls.push(call), join: () => undefined };
    },
    batches: { items: 8, responseBytes: 2_000 },
    cacheBytes: 1e6,
  });
  const { gate, limiter } = context;
  const handle = createMessageHandler({ ...context, meter, tracing: isPlain ? undefined : tracing });
  const held = { bytes: 0 };
  const memory = {
    hold: (bytes: number) => (held.bytes += bytes) >= 0,
    tryAcquire: (bytes: number) => (held.bytes += bytes) >= 0,
    release: (bytes: number) => void (held.bytes -= bytes),
  };
  const request = (key: string, body: string) => {
    const seen = { text: "" };
    const sink = createTextSink(1e6, memory, (given) => {
      seen.text = typeof given === "string" ? given : `${given.source} ${given.text}`;
    });
    const caller = { key, listener: "public" as const, tierName: "public" };
    return { seen, flow: handle(Buffer.from(body), { caller, memory, traceContext: undefined }, sink) };
  };
  const read = () => ({
    bodies,
    counts: [...counts].toSorted(),
    cancelled: cancelledCalls.length,
    inFlight: gate.callsInFlight,
    held: held.bytes,
    waitMs: ["a", "b"].map((key) => limiter.waitFor(key, 400, tier)),
    cached: cache.bytes(),
  });
  return { request, sent, read };
}

/** Ways in which a node responds to a batch. */
const responseModes = [
  "in order",
  "in order",
  "reversed",
  "one missing",
  "in parts",
  "one error",
  "an error",
  "fails",
  "spaced",
] as const;
type ResponseMode = (typeof responseModes)[number];

/** Node responses that always end a run. */
const responsesMax = 200;

const readIds = (body: string) => [...body.matchAll(/"id":(\d+)/g)].map(([, id]) => id ?? "");

function respond({ body, sink }: NodeCall, mode: ResponseMode): void {
  const one = (id: string, index: number) => {
    if (mode === "one error" && index === 1)
      return `{"jsonrpc":"2.0","id":${id},"error":{"code":3,"message":"reverted"}}`;
    return `{"jsonrpc":"2.0","id":${id},"result":"0x${"ab".repeat(index * 110)}"}`;
  };
  const ids = readIds(body);
  if (mode === "fails") sink.fail("timeout");
  else if (!body.startsWith("[")) sink.bytes(Buffer.from(one(ids[0] ?? "", 2)), "node");
  else if (mode === "an error")
    sink.bytes(Buffer.from('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'), "node");
  else {
    const responses = ids.map(one);
    if (mode === "reversed") responses.reverse();
    if (mode === "one missing") responses.pop();
    const text = mode === "spaced" ? `[ ${responses.join(" , ")} ]\n` : `[${responses.join(",")}]`;
    if (mode !== "in parts") sink.bytes(Buffer.from(text), "node");
    else {
      sink.begin(text.length, "node");
      sink.chunk(Buffer.from(text.slice(0, 40)));
      sink.chunk(Buffer.from(text.slice(40)));
      sink.end();
    }
  }
}

const call = fc.record({
  id: fc.nat(25),
  method: fc.constantFrom(
    "eth_getBalance",
    "eth_getBalance",
    "eth_call",
    "eth_createAccessList",
    "eth_gasPrice",
    "eth_getStorageAt",
    "eth_chainId",
    "eth_getLogs",
    "eth_nothing",
  ),
  block: fc.constantFrom('"latest"', '"latest"', '"latest"', '"0x10"', '"pending"', '{"blockHash":"0x1"}'),
  data: fc.nat(12),
  isOdd: fc.nat(9).map((chance) => chance === 0),
});
type Call = ReturnType<typeof call.generate>["value_"];
const format = ({ id, method, block, data, isOdd }: Call): string => {
  const first = method === "eth_createAccessList" ? `{"data":"0x${data}"}` : `"0x${data}"`;
  const params = method === "eth_getStorageAt" ? `[${first},"0x1",${block}]` : `[${first},${block}]`;
  return `{${isOdd ? " " : ""}"jsonrpc":"2.0","id":${id},"method":"${method}","params":${method === "eth_gasPrice" ? "[]" : params}}`;
};

type Request = Readonly<{
  key: string;
  batch: readonly Call[];
  separator: string;
  isCancelled: boolean;
  responsesBefore: number;
}>;

/** Rarely generated: the batch is too long for all its calls to get a response. */
const longSequences: [Request[], ResponseMode[]][] = [
  // The response to a call cancels the next call, which the node omitted. The next batch must still not be sent call by call.
  [
    [createBatch([0, 1, 2, 3, 4, 5, 6, 5, 7], 0), createBatch([8, 9], 1)],
    ["one missing", "in order"],
  ],
  // The responses to 5 and 6, delivered together, leave no space for the response to 1, which arrived earlier: the calls
  // after it, in another piece, are cancelled.
  [[createBatch([0, 1, 2, 3, 4, 4, 5, 6, 1, 7, 8], 0, 9)], ["in order"]],
];

/** Reads these accounts' balances; at `newPiece`, a call has the first call's id, and so needs another piece. */
function createBatch(accounts: readonly number[], responsesBefore: number, newPiece?: number): Request {
  const batch = accounts.map((data, index): Call => ({
    id: index === newPiece ? 0 : index,
    method: "eth_getBalance",
    block: '"latest"',
    data,
    isOdd: false,
  }));
  return { key: "a", batch, separator: ",", isCancelled: false, responsesBefore };
}

describe("plain reads in batches", () => {
  it("are answered, limited, counted and cancelled like calls that pass through the handler", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array<Request>(
          fc.record({
            key: fc.constantFrom("a", "b"),
            batch: fc.array(call, { minLength: 1, maxLength: 24 }),
            separator: fc.constantFrom(",", ",", ", "),
            isCancelled: fc.nat(5).map((chance) => chance === 0),
            responsesBefore: fc.nat(2),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        fc.array(fc.constantFrom(...responseModes), { minLength: 4, maxLength: 40 }),
        async (requests, given) => {
          const run = async (isPlain: boolean) => {
            const { request, sent, read } = startGateway(isPlain);
            const responses: { text: string }[] = [];
            let index = 0;
            const respondToNext = async () => {
              const next = sent.shift();
              if (next === undefined) return false;
              respond(next, given[index % given.length] ?? "in order");
              index += 1;
              await undefined;
              await undefined;
              return true;
            };
            for (const { key, batch, separator, isCancelled, responsesBefore } of requests) {
              for (let count = 0; count < responsesBefore; count += 1) await respondToNext();
              const { seen, flow } = request(key, `[${batch.map(format).join(separator)}]`);
              await undefined;
              if (isCancelled) flow.cancel();
              responses.push(seen);
            }
            for (let isMore = true; isMore;) isMore = index < responsesMax && (await respondToNext());
            return { answers: responses, ...read() };
          };
          expect(await run(true)).toEqual(await run(false));
        },
      ),
      { numRuns: 400, examples: longSequences },
    );
  });
});
