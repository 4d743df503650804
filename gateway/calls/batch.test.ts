import { expect, test } from "vitest";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { createTestAccount, createTestContext, noFlow } from "../testing/test-context.ts";
import { turnBytes } from "../wire/shared-turns.ts";
import { discardedResponse, finishedFlow, type ResponseFlow, type ResponseSink } from "../responses/response-sink.ts";
import { runBatch, type BatchDependencies } from "./batch.ts";
import type { BatchStrategy } from "./batch-strategy.ts";
import type { NodeBatch } from "../upstream/node-batches.ts";
import { measureCpuMs } from "#daemon/testing/thread-cpu.ts";

const noSender: NodeBatch = {
  send: () => noFlow,
  addUnbatched: () => expect.unreachable("treats no read as plain"),
  gather: () => undefined,
  release: () => undefined,
};

/** Runs a batch whose calls the test handles. */
function run(
  calls: Parameters<typeof runBatch>[0],
  handle: BatchDependencies["handle"],
  given: Readonly<{
    context?: ReturnType<typeof createTestContext>["context"];
    sender?: NodeBatch;
    ahead?: number;
    sink?: ResponseSink;
    memory?: HeldBytes;
    responseBytes?: number;
  }> = {},
): ResponseFlow {
  const { responseBytes = 1_000, ahead = 100, sink = discardedResponse, sender = noSender } = given;
  const { context = createTestContext({ settings: { limits: { batchResponseBytes: responseBytes } } }).context } =
    given;
  const strategy: BatchStrategy = {
    ahead: () => ahead,
    sender,
    gate: context.gate,
    isGrouped: () => true,
    onResume: () => undefined,
  };
  const account = createTestAccount(context, given.memory);
  return runBatch(calls, account, strategy, { handle, sink, plainReads: undefined });
}

const calls = (count: number, params = "[]") =>
  Array.from({ length: count }, (_, id) => ({ id: String(id), method: "a", params }));

test("a batch whose client disconnects during dispatch still sends the calls that another caller waits for", async () => {
  const sent: string[] = [];
  let clock = 0;
  // Each clock reading ends the tick; later ticks never run.
  const { context } = createTestContext({
    now: () => (clock += 1_000),
    later: () => undefined,
    send: ({ body }) => {
      sent.push(body);
      return noFlow;
    },
    batches: { items: 100, responseBytes: 1_000 },
  });
  const sender = context.nodeBatches.open("a");
  const handle: BatchDependencies["handle"] = ({ id = "" }) => {
    sender.send({ caller: "a", id, body: `call ${id}`, timeoutMs: 1, repeatable: true, sink: discardedResponse });
    // A read shared with another caller continues when its first caller disconnects.
    return finishedFlow;
  };
  const flow = run(calls(10, `["${"x".repeat(turnBytes)}"]`), handle, { context, sender });
  await Promise.resolve();
  expect(sent).toEqual([]);
  flow.cancel();
  await Promise.resolve();
  expect(sent).toEqual(["call 0"]);
});

test("a batch that is cancelled while it starts a call cancels that call too", () => {
  const cancelledIds: string[] = [];
  const later: (() => void)[] = [];
  let clock = 0;
  const { context } = createTestContext({ now: () => (clock += 1_000), later: (resume) => later.push(resume) });
  const [, ...short] = calls(3);
  const long = { id: "0", method: "a", params: `["${"x".repeat(turnBytes)}"]` };
  const handle: BatchDependencies["handle"] = ({ id = "" }) => {
    // Receiving a call's response may close the caller's own connection.
    if (id === "1") flow.cancel();
    return { resume: () => undefined, cancel: () => cancelledIds.push(id) };
  };
  const flow = run([long, ...short], handle, { context });
  for (const resume of later) resume();
  expect(cancelledIds).toEqual(["0", "1"]);
});

test("a batch whose responses exceed their limit cancels its calls in flight and sends no more", () => {
  const sinks = new Map<string, ResponseSink>();
  const cancelledIds: string[] = [];
  let text = "";
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return true;
  };
  const memory = { hold, tryAcquire: hold, release: (bytes: number) => void (held -= bytes) };
  const handle: BatchDependencies["handle"] = ({ id = "" }, sink) => {
    sinks.set(id, sink);
    return { resume: () => undefined, cancel: () => cancelledIds.push(id) };
  };
  run(calls(20), handle, { ahead: 8, memory, sink: { ...discardedResponse, text: (json) => void (text = json) } });
  const long = "x".repeat(600);
  // A call in flight has received part of its response when it is cancelled.
  sinks.get("2")?.begin(undefined, "node");
  sinks.get("2")?.chunk(Buffer.alloc(100));
  expect(held).toBeGreaterThan(0);
  for (const id of ["0", "1"]) sinks.get(id)?.text(`{"id":${id},"result":"${long}"}`, "node");
  expect([...sinks.keys()]).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
  expect(cancelledIds).toEqual(["2", "3", "4", "5", "6", "7", "8"]);
  const entries = JSON.parse(text) as readonly Readonly<{ result?: string; error?: object }>[];
  expect(entries.map(({ error }) => error !== undefined)).toEqual(entries.map((_, at) => at > 0));
  expect(entries).toHaveLength(20);
  expect(held).toBe(0);
});

const respondLong: BatchDependencies["handle"] = (_, sink) => {
  sink.text("x".repeat(200), "node");
  return finishedFlow;
};

test("a batch whose responses exceed their limit rejects the remaining calls quickly", () => {
  const count = 50_000;
  const parts: Buffer[] = [];
  const sink = { ...discardedResponse, chunk: (part: Buffer) => parts.push(part) > 0 };
  const tookMs = measureCpuMs(() => run(calls(count), respondLong, { ahead: 1, responseBytes: 100, sink }));
  expect(JSON.parse(Buffer.concat(parts).toString())).toHaveLength(count);
  // Takes less than a tenth of a second; a quadratic implementation took two minutes.
  expect(tookMs).toBeLessThan(10_000);
});
