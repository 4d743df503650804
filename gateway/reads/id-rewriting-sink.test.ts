import { describe, expect, it } from "vitest";
import type { ResponseFailure } from "../errors.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { IdRewritingSink } from "./id-rewriting-sink.ts";

const id = '"<odd>"';

function answerTo() {
  const events: string[] = [];
  let text = "";
  let lengthBytes: number | undefined;
  const take = (bytes: string) => {
    text += bytes;
  };
  const sink = {
    text: take,
    bytes: (body: Buffer) => take(body.toString("latin1")),
    begin: (length: number | undefined) => {
      lengthBytes = length;
    },
    chunk: (bytes: Buffer) => {
      take(bytes.toString("latin1"));
      return bytes.length < 100;
    },
    end: () => events.push("end"),
    fail: (failure: ResponseFailure) => events.push(failure),
  };
  const answer = new IdRewritingSink({ ...sink, id, memory: roomyMemory });
  return { answer, events, text: () => text, lengthBytes: () => lengthBytes };
}

const usual = (result: string) => `{"jsonrpc":"2.0","id":1,"result":${result}}`;
/** The same response in another node's member order. */
const written = (result: string) => Buffer.from(`{"jsonrpc":"2.0","result":${result},"id":1}`);
const expected = (result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
const long = `"${"x".repeat(3_000_000)}"`;

describe("a response to an id that a node might reformat", () => {
  it("is streamed as it arrives, at any length and with any chunking", () => {
    for (const firstBytes of [1, 20, 23, 24, 25, 1_000]) {
      const { answer, events, text, lengthBytes } = answerTo();
      const bytes = Buffer.from(usual(long));
      answer.begin(bytes.length, "node");
      answer.chunk(bytes.subarray(0, firstBytes));
      expect(answer.chunk(bytes.subarray(firstBytes, 1_000_000))).toBe(false);
      expect(text().length).toBeGreaterThan(1_000_000);
      answer.chunk(bytes.subarray(1_000_000));
      answer.end();
      expect(text() === expected(long)).toBe(true);
      expect([lengthBytes(), events]).toEqual([expected(long).length, ["end"]]);
    }
  });

  it("is aborted where the node's response is", () => {
    const { answer, events } = answerTo();
    answer.begin(undefined, "node");
    answer.chunk(Buffer.from(usual(long).slice(0, 100)));
    answer.fail("unavailable");
    expect(events).toEqual(["unavailable"]);
  });

  it("is parsed if the id is reformatted, up to a length", () => {
    for (const pieces of [1, 2]) {
      const { answer, text, events } = answerTo();
      const bytes = written('"0x1"');
      if (pieces === 1) answer.bytes(bytes, "node");
      else {
        answer.begin(bytes.length, "node");
        answer.chunk(bytes.subarray(0, 10));
        answer.chunk(bytes.subarray(10));
        answer.end();
      }
      expect([text(), events]).toEqual([expected('"0x1"'), []]);
    }
    for (const isWhole of [true, false]) {
      const { answer, text, events } = answerTo();
      if (isWhole) answer.bytes(written(long), "node");
      else {
        answer.begin(undefined, "node");
        answer.chunk(written(long));
        answer.end();
      }
      expect([text(), events]).toEqual(["", ["tooLarge"]]);
    }
  });
});
