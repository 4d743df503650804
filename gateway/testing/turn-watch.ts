import { Registry } from "prom-client";
import { readThreadCpuMs } from "#daemon/testing/thread-cpu.ts";
import { createMessageHandler } from "../calls/message-handler.ts";
import { createPrometheusMeter } from "../observe/call-metrics.ts";
import type { ResponseSink } from "../responses/response-sink.ts";
import type { NodeCall } from "../upstream/node-call.ts";
import { limitlessTier } from "./limitless-tier.ts";
import { createTestContext, noFlow } from "./test-context.ts";
import { roomyMemory } from "./unlimited-memory.ts";

/** CPU time that the thread spends on a message, in milliseconds. */
export type TurnTimes = Readonly<{
  longestMs: number;
  allMs: number;
  responseText: string;
}>;

const shownLength = 200;

/**
 * Creates a function that measures the gateway's CPU time for a message, from the client's bytes to the node's and back, with default
 * limits but no rate limit. Sockets are excluded; bytes for a socket are copied instead.
 */
export function watchTurns(): (body: Buffer) => Promise<TurnTimes> {
  const pendingTurns: (() => void)[] = [];
  const asked: NodeCall[] = [];
  const { context } = createTestContext({
    settings: { tiers: { public: { ...limitlessTier, splitBlocks: 2_000 } } },
    now: () => performance.now(),
    later: (run) => void pendingTurns.push(run),
    send: (call) => {
      // Copies the bytes, as a socket would.
      Buffer.from(call.body, "latin1");
      asked.push(call);
      return noFlow;
    },
    batches: { items: 100, responseBytes: 8_388_608 },
    cacheBytes: 1e8,
  });
  const handle = createMessageHandler({ ...context, meter: createPrometheusMeter(new Registry()) });
  const caller = { key: "a", listener: "internal" as const, tierName: "public" };
  return async (body) => {
    let responseText = "";
    let longestMs = 0;
    let allMs = 0;
    const timed = async (run: () => void) => {
      const startedAt = readThreadCpuMs();
      run();
      // Runs the work deferred to the end of the tick.
      await undefined;
      const ms = readThreadCpuMs() - startedAt;
      longestMs = Math.max(longestMs, ms);
      allMs += ms;
    };
    const sink = createCopyingSink((text) => {
      if (responseText.length < shownLength) responseText += text.slice(0, shownLength);
    });
    await timed(() => handle(body, { caller, memory: roomyMemory, traceContext: undefined }, sink));
    while (pendingTurns.length + asked.length > 0) {
      const run = pendingTurns.shift() ?? createResponseStep(asked.shift());
      await timed(run);
    }
    return { longestMs, allMs, responseText };
  };
}

/** Creates a sink that processes a response like a connection does: it encodes text as bytes and copies the node's bytes. */
function createCopyingSink(took: (start: string) => void): ResponseSink {
  const whole = (json: string) => took(Buffer.from(json, "latin1").toString("latin1", 0, shownLength));
  return {
    text: whole,
    bytes: (body) => took(Buffer.from(body).toString("latin1", 0, shownLength)),
    begin: () => undefined,
    chunk: (bytes) => {
      took(Buffer.from(bytes).toString("latin1", 0, shownLength));
      return true;
    },
    end: () => undefined,
    fail: () => took("broken"),
  };
}

const responseText = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`;

/** Builds the node's response to a call or a batch, and returns a function that delivers it. */
function createResponseStep(call: NodeCall | undefined): () => void {
  if (call === undefined) return () => undefined;
  const { id, body, sink } = call;
  const ids = body.startsWith("[") ? [...body.matchAll(/"id":(\d+),"method"/g)].map(([, one = ""]) => one) : undefined;
  const bytes = Buffer.from(ids === undefined ? responseText(id) : `[${ids.map(responseText).join(",")}]`, "latin1");
  return () => sink.bytes(bytes, "node");
}
