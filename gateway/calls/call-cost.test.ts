import { describe, expect, it } from "vitest";
import { discardedResponse } from "../responses/response-sink.ts";
import { createCountingContext, createTestAccount } from "../testing/test-context.ts";
import { CallRecord } from "./call-record.ts";

/**
 * Starts calls that run contract code; returns the function that ends the next one, and what is owed for node time.
 */
function timeCalls(count: number, { isBatch = true, rateLimit = {} } = {}) {
  const { context, owed, clock } = createCountingContext(rateLimit);
  const { gate } = context;
  const account = createTestAccount(context);
  const sender = { send: () => expect.unreachable("nothing is sent") };
  if (isBatch) account.batch = { sender, gate };
  const call = { id: "1", method: "eth_call", params: "[]" };
  const records = Array.from({ length: count }, () => new CallRecord(account, call, discardedResponse));
  for (const record of records) record.enter(gate);
  const end = (requestedAt: number, endedAt: number) => {
    clock.ms = endedAt;
    const record = records.shift();
    record?.entered(gate, requestedAt);
    record?.ended("node");
  };
  return { owed, end };
}

describe("node time of calls that run contract code", () => {
  it.each([true, false])("is free up to what their compute units cover; in a batch: %s", (isBatch) => {
    const { owed, end } = timeCalls(1, { isBatch });
    end(0, 26);
    expect(owed).toEqual([]);
  });

  it.each([true, false])("costs a unit for each millisecond beyond that; in a batch: %s", (isBatch) => {
    const { owed, end } = timeCalls(1, { isBatch });
    end(1_000, 2_000.5);
    expect(owed).toEqual([974]);
  });

  it.each([
    [true, [96, 100, 100]],
    [false, [174, 174, 174, 74]],
  ])("counts each moment once for calls in one batch (%s) and once per call otherwise", (isBatch, expected) => {
    const { owed, end } = timeCalls(4, { isBatch });
    end(0, 200);
    end(0, 200);
    end(100, 300);
    end(500, 600);
    expect(owed).toEqual(expected);
  });

  it("costs nothing without rate limits", () => {
    const { owed, end } = timeCalls(1, { rateLimit: { enabled: false } });
    end(0, 1_000);
    expect(owed).toEqual([]);
  });
});

const kib = 1_024;

/** A call's record as the sink of its response: the caller's debt, how the call ended, and what the client received. */
function indebted(rateLimit: Readonly<Record<string, number | boolean>> = {}) {
  const { context, owed, outcomes } = createCountingContext(rateLimit);
  const texts: string[] = [];
  const sink = new CallRecord(
    createTestAccount(context),
    { id: "1", method: "eth_getLogs", params: "[]" },
    {
      ...discardedResponse,
      text: (json) => void texts.push(json),
      fail: (failure) => void texts.push(failure),
    },
  );
  return { owed, sum: () => owed.reduce((all, units) => all + units, 0), sink, outcomes, texts };
}

describe("the cost of a response", () => {
  it("is zero within the free allowance", () => {
    const { owed, sink } = indebted();
    sink.text("x".repeat(17 * kib - 1), "node");
    expect(owed).toEqual([]);
  });

  it("is charged per KiB beyond the free allowance", () => {
    const { owed, sink } = indebted({ unitsPerAnswerKiB: 3, freeAnswerKiB: 10 });
    sink.bytes(Buffer.alloc(30 * kib), "node");
    expect(owed).toEqual([60]);
  });

  it("is charged for a streamed response as chunks arrive, and in full by the end", () => {
    const { owed, sum, sink } = indebted();
    sink.begin(undefined, "node");
    for (let piece = 0; piece < 200; piece += 1) {
      sink.chunk(Buffer.alloc(10 * kib));
      expect(sum()).toBeGreaterThan(Math.max(0, (piece + 1) * 10 - 16) - 64);
    }
    expect(owed.length).toBeLessThan(40);
    sink.end();
    expect(sum()).toBe(2_000 - 16);
  });

  it("covers the received part of an interrupted response", () => {
    const { sum, sink } = indebted();
    sink.begin(undefined, "node");
    sink.chunk(Buffer.alloc(50 * kib));
    sink.fail("unavailable");
    expect(sum()).toBe(50 - 16);
  });

  it("ends the call once, with the source of its response or with its failure, which is an error if no data was sent", () => {
    const [answeredCall, failedCall, brokenCall] = [indebted(), indebted(), indebted()];
    answeredCall.sink.text("{}", "coalesced");
    answeredCall.sink.cancelled();
    failedCall.sink.fail("timeout");
    brokenCall.sink.begin(undefined, "node");
    brokenCall.sink.fail("tooLarge");
    expect([answeredCall.outcomes, failedCall.outcomes, brokenCall.outcomes]).toEqual([
      ["coalesced"],
      ["failed"],
      ["failed"],
    ]);
    expect(failedCall.texts).toEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"request timed out"}}',
    ]);
    expect(brokenCall.texts).toEqual(["tooLarge"]);
  });

  it("is zero without rate limits, or if responses are free", () => {
    for (const settings of [{ enabled: false }, { unitsPerAnswerKiB: 0 }]) {
      const { owed, sink } = indebted(settings);
      sink.text("x".repeat(100 * kib), "node");
      sink.begin(undefined, "node");
      for (let piece = 0; piece < 20; piece += 1) sink.chunk(Buffer.alloc(10 * kib));
      sink.end();
      sink.fail("unavailable");
      expect(owed).toEqual([]);
    }
  });

  it("is zero for a rejection", () => {
    const { owed, sink } = indebted();
    sink.text("x".repeat(100 * kib), "gateway", 1);
    expect(owed).toEqual([]);
  });
});
