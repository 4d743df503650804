import { describe, expect, it } from "vitest";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import type { ResponseSink } from "../responses/response-sink.ts";
import { BatchPiece } from "./batch-piece.ts";
import type { NodeCall } from "./node-call.ts";

/** A piece of this many calls to a node whose response the test supplies; each reading of the clock ends a tick. */
function sendPiece(count: number) {
  const later: (() => void)[] = [];
  let clock = 0;
  const turns = new SharedTurns({ now: () => (clock += 1_000), later: (run) => void later.push(run) });
  const sent: NodeCall[] = [];
  const texts: string[] = [];
  const held = { bytes: 0 };
  const memory = {
    ...roomyMemory,
    hold: (bytes: number) => (held.bytes += bytes) > 0,
    release: (bytes: number) => void (held.bytes -= bytes),
  };
  const piece = new BatchPiece(
    { items: 100, responseBytes: 2_000_000 },
    {
      pool: {
        send: (call) => {
          sent.push(call);
          return { resume: () => undefined, cancel: () => undefined, join: () => undefined };
        },
      },
      turns,
      rejected: (why) => expect.unreachable(why),
      cutAfter: () => expect.unreachable("the response is within its limit"),
    },
  );
  const sink = { begin: () => 0, chunk: () => true, end: () => 0, fail: () => 0, bytes: () => 0 };
  const flows = Array.from({ length: count }, (_, id) =>
    piece.add({
      caller: "a",
      memory,
      id: String(id),
      body: "{}",
      timeoutMs: 1,
      repeatable: true,
      sink: { ...sink, text: (text: string) => void texts.push(text) },
    }),
  );
  piece.send();
  const turn = () => {
    let servedCount = 0;
    for (let run = later.shift(); run !== undefined; run = later.shift()) {
      run();
      servedCount += 1;
    }
    return servedCount;
  };
  return { node: sent[0]!.sink, sent, texts, flows, turn, held };
}

const createResponse = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":"${"x".repeat(15_000)}"}`;
const responses = Array.from({ length: 100 }, (_, id) => createResponse(id));

function respondInParts(node: ResponseSink): void {
  node.begin(undefined, "node");
  const body = Buffer.from(`[${responses.join(",")}]`);
  for (let at = 0; at < body.length; at += 65_536) node.chunk(body.subarray(at, at + 65_536));
  node.end();
}

describe("a long batch response from the node", () => {
  it("is read over several ticks, and stays in memory until read", () => {
    const { node, texts, turn, held, sent } = sendPiece(100);
    respondInParts(node);
    expect(texts).toEqual([]);
    expect(held.bytes).toBeGreaterThan(1_500_000);
    expect(turn()).toBeGreaterThan(30);
    expect(texts).toEqual(responses);
    expect([held.bytes, sent.length]).toEqual([0, 1]);
  });

  it("is neither read further nor retained once all its clients have disconnected", () => {
    const { node, texts, flows, turn, held, sent } = sendPiece(100);
    respondInParts(node);
    for (const flow of flows) flow.cancel();
    expect(held.bytes).toBe(0);
    expect(turn()).toBeLessThan(3);
    expect([texts, sent.length]).toEqual([[], 1]);
  });

  it("reaches the remaining clients if others disconnect in the meantime", () => {
    const { node, texts, flows, turn } = sendPiece(100);
    respondInParts(node);
    for (const flow of flows.slice(1)) flow.cancel();
    turn();
    expect(texts).toEqual([createResponse(0)]);
  });
});
