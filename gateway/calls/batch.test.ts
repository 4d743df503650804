import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import type { NodeCall } from "../upstream/node-call.ts";
import { createNodeBatches } from "../upstream/node-batches.ts";
import { SharedTurns, createTurns, turnBytes } from "../wire/shared-turns.ts";
import { discardedResponse, finishedFlow, type ResponseSink } from "../responses/response-sink.ts";
import { runBatch } from "./batch.ts";

test("a batch whose client goes while its calls are started sends those that another caller waits for, too", async () => {
  const sent: string[] = [];
  const pool = {
    send: ({ body }: NodeCall) => {
      sent.push(body);
      return { ...finishedFlow, join: () => undefined };
    },
  };
  const log = createLog({ service: "test", level: "silent" });
  let clock = 0;
  // Each reading of the clock ends the tick; the later ticks never run.
  const turns = new SharedTurns({ now: () => (clock += 1_000), later: () => undefined });
  const toNode = createNodeBatches({ items: 100, responseBytes: 1_000 }, { pool, log, now: () => 0, turns }).open("a");
  const params = `["${"x".repeat(turnBytes)}"]`;
  const calls = Array.from({ length: 10 }, (_, id) => ({ id: String(id), method: "a", params }));
  const flow = runBatch(
    calls,
    { ahead: () => 100, responseBytes: 1_000 },
    {
      handle: ({ id = "" }) => {
        const sink = { text: () => 0, bytes: () => 0, begin: () => 0, chunk: () => true, end: () => 0, fail: () => 0 };
        toNode.send({ caller: "a", id, body: `call ${id}`, timeoutMs: 1, repeatable: true, sink });
        // A read shared with another caller continues when its first caller disconnects.
        return finishedFlow;
      },
      sink: discardedResponse,
      memory: roomyMemory,
      turns: createTurns(turns, "a"),
      toNode,
    },
  );
  await Promise.resolve();
  expect(sent).toEqual([]);
  flow.cancel();
  await Promise.resolve();
  expect(sent).toEqual(["call 0"]);
});

test("a batch that is cancelled while it starts a call cancels that call, too", () => {
  const cancelled: string[] = [];
  const later: (() => void)[] = [];
  let clock = 0;
  const flow = runBatch(
    [
      { id: "0", method: "a", params: `["${"x".repeat(turnBytes)}"]` },
      { id: "1", method: "a", params: "[]" },
      { id: "2", method: "a", params: "[]" },
    ],
    { ahead: () => 100, responseBytes: 1_000 },
    {
      handle: ({ id = "" }) => {
        // Receiving a call's response may close the caller's own connection.
        if (id === "1") flow.cancel();
        return { resume: () => undefined, cancel: () => cancelled.push(id) };
      },
      sink: discardedResponse,
      memory: roomyMemory,
      turns: createTurns(new SharedTurns({ now: () => (clock += 1_000), later: (run) => later.push(run) }), "a"),
      toNode: { gather: () => undefined, release: () => undefined },
    },
  );
  for (const run of later) run();
  expect(cancelled).toEqual(["0", "1"]);
});

test("a batch whose responses exceed their limit cancels its calls in flight, and sends no more", () => {
  const sinks = new Map<string, ResponseSink>();
  const cancelled: string[] = [];
  let text = "";
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return true;
  };
  const memory = { hold, tryAcquire: hold, release: (bytes: number) => void (held -= bytes) };
  runBatch(
    Array.from({ length: 20 }, (_, at) => ({ id: String(at), method: "a", params: "[]" })),
    { ahead: () => 8, responseBytes: 1_000 },
    {
      handle: ({ id = "" }, sink) => {
        sinks.set(id, sink);
        return { resume: () => undefined, cancel: () => cancelled.push(id) };
      },
      sink: { ...discardedResponse, text: (json) => void (text = json) },
      memory,
      turns: createTurns(new SharedTurns({ now: () => 0, later: () => undefined }), "a"),
      toNode: { gather: () => undefined, release: () => undefined },
    },
  );
  const long = "x".repeat(600);
  // A call in flight has received part of its response when it is cancelled.
  sinks.get("2")?.begin(undefined, "node");
  sinks.get("2")?.chunk(Buffer.alloc(100));
  expect(held).toBeGreaterThan(0);
  for (const id of ["0", "1"]) sinks.get(id)?.text(`{"id":${id},"result":"${long}"}`, "node");
  expect([...sinks.keys()]).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
  expect(cancelled).toEqual(["2", "3", "4", "5", "6", "7", "8"]);
  const entries = JSON.parse(text) as readonly Readonly<{ result?: string; error?: object }>[];
  expect(entries.map(({ error }) => error !== undefined)).toEqual(entries.map((_, at) => at > 0));
  expect(entries).toHaveLength(20);
  expect(held).toBe(0);
});

test("the calls of a batch that are left once its responses exceed their limit take little time", () => {
  const count = 50_000;
  const parts: Buffer[] = [];
  const beganMs = performance.now();
  runBatch(
    Array.from({ length: count }, (_, at) => ({ id: String(at), method: "a", params: "[]" })),
    { ahead: () => 1, responseBytes: 100 },
    {
      handle: (_, sink) => {
        sink.text("x".repeat(200), "node");
        return finishedFlow;
      },
      sink: { ...discardedResponse, chunk: (part) => parts.push(part) > 0 },
      memory: roomyMemory,
      turns: createTurns(new SharedTurns({ now: () => 0, later: () => undefined }), "a"),
      toNode: { gather: () => undefined, release: () => undefined },
    },
  );
  expect(JSON.parse(Buffer.concat(parts).toString())).toHaveLength(count);
  // Less than a tenth of a second; it was two minutes, by the square of their number.
  expect(performance.now() - beganMs).toBeLessThan(10_000);
});
