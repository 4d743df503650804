import { roomyMemory } from "../testing/unlimited-memory.ts";
import { describe, expect, it } from "vitest";
import { createCatalogue } from "../catalogue/catalogue.ts";
import type { NodeRead } from "./node-read.ts";
import { finishedFlow, type ResponseSink } from "../responses/response-sink.ts";
import { parseSplit } from "./split-read.ts";

const method = createCatalogue({}).get("eth_getLogs")!;

/** Starts the read of a range in pieces, to which the test responds. */
function startSplit(total: number, options: { parallel?: number; limitBytes?: number; takes?: () => boolean } = {}) {
  const asked: string[] = [];
  const readers = new Map<string, NodeRead>();
  const events: string[] = [];
  let text = "";
  const sink: ResponseSink = {
    text: (json) => {
      text = json;
      events.push("text");
    },
    bytes: () => undefined,
    begin: () => events.push("begin"),
    chunk: (bytes) => {
      text += bytes.toString("latin1");
      return options.takes?.() ?? true;
    },
    end: () => events.push("end"),
    fail: () => events.push("broken"),
  };
  const pieces = Array.from({ length: total }, (_, at) => `[${at}]`);
  const flow = parseSplit(
    { pieces, parallel: options.parallel ?? 3, limitBytes: options.limitBytes ?? 10_000_000 },
    {
      read: { ...sink, id: "7", method, caller: "a", memory: roomyMemory, traceContext: undefined },
      reads: {
        cached: () => undefined,
        read: (piece) => {
          asked.push(piece.params);
          readers.set(piece.params, piece);
          return finishedFlow;
        },
      },
    },
    (outcome) => events.push(outcome),
  );
  const createResponse = (at: number, result: string) =>
    readers.get(`[${at}]`)!.text(`{"jsonrpc":"2.0","id":1,"result":${result}}`, "node");
  return { flow, asked, events, createResponse, readers, text: () => text };
}

describe("a split range", () => {
  it("is joined in order, with a limited number of chunks in flight or buffered", () => {
    const split = startSplit(5);
    expect(split.asked).toEqual(["[0]", "[1]", "[2]"]);
    split.createResponse(2, '["c"]');
    split.createResponse(1, " [ ] ");
    expect(split.asked).toHaveLength(3);
    split.createResponse(0, '["a","b"]');
    expect(split.asked).toHaveLength(5);
    split.createResponse(4, '["e"]');
    split.createResponse(3, "[]");
    expect(split.text()).toBe('{"jsonrpc":"2.0","id":7,"result":["a","b","c","e"]}');
    expect(split.events).toEqual(["node", "text"]);
  });

  it("is streamed if long, waits for a slow reader, and never exceeds its size limit", () => {
    let takes = true;
    const split = startSplit(6, { parallel: 1, limitBytes: 400_000, takes: () => takes });
    const long = `["${"x".repeat(70_000)}"]`;
    takes = false;
    split.createResponse(0, long);
    expect(split.events).toEqual(["begin"]);
    expect(split.asked).toHaveLength(1);
    takes = true;
    split.flow.resume();
    expect(split.asked).toHaveLength(2);
    for (let at = 1; at < 5; at += 1) split.createResponse(at, long);
    split.createResponse(5, '["end"]');
    expect(split.events).toEqual(["begin", "node", "end"]);
    const { result } = JSON.parse(split.text()) as { result: string[] };
    expect(result.map((item) => item.length)).toEqual([70_000, 70_000, 70_000, 70_000, 70_000, 3]);

    const longSplit = startSplit(6, { parallel: 1, limitBytes: 100_000 });
    longSplit.createResponse(0, long);
    longSplit.createResponse(1, long);
    expect(longSplit.events).toEqual(["begin", "failed", "broken"]);
  });

  it("fails as a whole on the first error, and sends no more requests", () => {
    const split = startSplit(5);
    split.readers.get("[1]")!.text('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}', "node");
    split.createResponse(0, '["a"]');
    expect(split.text()).toBe('{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}');
    expect(split.events).toEqual(["failed", "text"]);
    expect(split.asked).toHaveLength(3);
  });
});
