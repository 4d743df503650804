import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ResponseBody, type BodyState } from "./response-body.ts";

type Framing = Readonly<{ chunked: boolean; lengthBytes: number | undefined }>;
type Taken = Readonly<{ kind: "whole" | "chunk" | "begin" | "end"; text: string }>;
type Reading = Readonly<{ wantsWhole?: boolean; maxBytes?: number; framing?: Framing; onChunk?: () => boolean }>;

const inChunks = { chunked: true, lengthBytes: undefined };

/**
 * Reads a body from one buffer that each read overwrites, as the socket does; returns how far the body was read and what the sink received.
 */
function read(reads: readonly string[], options: Reading = {}) {
  const { wantsWhole = true, maxBytes = 1_000_000, framing = inChunks, onChunk = () => true } = options;
  const taken: Taken[] = [];
  const kept: Buffer[] = [];
  let holds = 0;
  const sink = {
    wantsWhole,
    text: () => expect.unreachable("a body consists of bytes"),
    bytes: (bytes: Buffer) => taken.push({ kind: "whole", text: bytes.toString("latin1") }),
    begin: (lengthBytes?: number) => taken.push({ kind: "begin", text: String(lengthBytes) }),
    chunk: (bytes: Buffer) => {
      kept.push(bytes);
      return onChunk();
    },
    end: () => taken.push({ kind: "end", text: "" }),
    fail: () => undefined,
  };
  const hold = () => {
    holds += 1;
  };
  const body = new ResponseBody(framing, maxBytes, { sink, deliver: sink.bytes, hold });
  const readBuffer = Buffer.alloc(200_000);
  let state: BodyState = "more";
  for (const text of reads) {
    if (state !== "more") break;
    state = body.read(readBuffer.subarray(0, readBuffer.write(text, "latin1")), false);
    if (state === "done") body.end();
    readBuffer.fill("?");
  }
  const chunks = kept.map((bytes) => ({ kind: "chunk", text: bytes.toString("latin1") }) as const);
  const [first, ...otherBodies] = taken;
  return { state, holds, body, taken: first?.kind === "begin" ? [first, ...chunks, ...otherBodies] : taken };
}

const wholeResponse = { kind: "whole", text: "answer" };

describe("a response body", () => {
  test.each([
    [["6\r\nanswer\r\n0\r\n\r\n"]],
    [["3\r\nans\r\n3;of=two\r\nwer\r\n0\r\nX-Sum: 1\r\n\r\n"]],
    [["", "6\r\n", "answer", "\r\n0\r\n\r\n"]],
    [["00000006\r\nanswer\r\n0\r\n\r\n"]],
    [["1\r\na\r\n1 ;of=six\r\nn\r\n4\r\ns", "wer", "\r\n00\r\n\r\n"]],
    [["2\r\nan\r\n3\r\nsw", "e\r\n1\r", "\nr\r\n0\r\n", "\r\n"]],
  ])("is decoded from chunks into one piece: %j", (reads) => {
    expect(read(reads)).toMatchObject({ state: "done", taken: [wholeResponse] });
  });

  test("is streamed read by read to a streaming sink, or at once if complete", () => {
    const taken = [
      { kind: "begin", text: "undefined" },
      { kind: "chunk", text: "ans" },
      { kind: "chunk", text: "wer" },
      { kind: "end", text: "" },
    ];
    expect(read(["3\r\nans\r\n", "3\r\nwer\r\n0\r\n\r\n"], { wantsWhole: false })).toMatchObject({ taken });
    expect(read(["2\r\nan\r\n1\r\ns\r\n", "1\r\nw\r\n2\r\ner\r\n0\r\n\r\n"], { wantsWhole: false })).toMatchObject({
      taken,
    });
    expect(read(["3\r\nans\r\n3\r\nwer\r\n0\r\n\r\n"], { wantsWhole: false })).toMatchObject({
      taken: [wholeResponse],
    });
  });

  test.each([
    ["a nine-digit size", ["000000006\r\nanswer\r\n0\r\n\r\n"]],
    ["junk after a size", ["6a;\r\r\nanswer\r\n0\r\n\r\n"]],
    ["half a line ending after a chunk", ["6\r\nanswer\r0\r\n\r\n"]],
    ["an invalid size", ["6\r\nanswer\r\n", "x\r\nanswer\r\n0\r\n\r\n"]],
    ["data after its end", ["6\r\nanswer\r\n0\r\n\r\nHTTP/1.1 200"]],
    ["no line ending after a chunk", ["6\r\nanswers\r\n0\r\n\r\n"]],
  ])("is rejected with %s", (_, reads) => expect(read(reads)).toMatchObject({ state: "badAnswer", taken: [] }));

  test("is streamed without loss once it is long", () => {
    const parts = Array.from({ length: 5 }, (_, part) => String(part).repeat(30_000));
    const reads = [...parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`), "0\r\n\r\n"];
    const { taken, state } = read(reads);
    expect(state).toBe("done");
    expect(taken.map(({ kind }) => kind)).toEqual(["begin", "chunk", "chunk", "chunk", "chunk", "end"]);
    expect(
      taken
        .slice(1)
        .map(({ text }) => text)
        .join(""),
    ).toBe(parts.join(""));
  });

  test("has a length or ends with its chunks, and is rejected beyond its limit", () => {
    const framing = { chunked: false, lengthBytes: 6 };
    expect(read(["", "ans", "wer"], { framing })).toMatchObject({ state: "done", taken: [wholeResponse] });
    expect(read(["ans", "wers"], { framing })).toMatchObject({ state: "badAnswer", taken: [] });
    const reads = ["3\r\nans\r\n", "3\r\nwer\r\n0\r\n\r\n"];
    expect(read(reads, { maxBytes: 6 })).toMatchObject({ state: "done", taken: [wholeResponse] });
    expect(read(reads, { maxBytes: 5 })).toMatchObject({ state: "tooLarge", taken: [] });
  });

  test("pauses while its sink is full, and stops once the sink is gone", () => {
    const reads = ["3\r\nans\r\n3\r\nwer\r\n", "1\r\ns\r\n", "0\r\n\r\n"];
    expect(read(reads, { wantsWhole: false, onChunk: () => false })).toMatchObject({ holds: 2, state: "done" });
    const { body, taken } = read(reads.slice(0, 1));
    body.drop();
    expect(body.read(Buffer.from("1\r\ns\r\n0\r\n\r\n"), false)).toBe("more");
    expect(taken).toEqual([]);
  });

  test("is the same however it is chunked", () => {
    const cuts = fc.array(fc.nat(200), { maxLength: 6 });
    const parts = fc.array(fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 40 }), { maxLength: 5 });
    fc.assert(
      fc.property(parts, cuts, fc.boolean(), (texts, cutOffsets, wantsWhole) => {
        const body = `${texts.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("")}0\r\n\r\n`;
        const sortedCuts = [0, ...cutOffsets.filter((at) => at < body.length).toSorted((one, other) => one - other)];
        const { state, taken } = read(
          sortedCuts.map((at, readBuffer) => body.slice(at, sortedCuts[readBuffer + 1])),
          { wantsWhole },
        );
        const got = taken.filter(({ kind }) => kind === "whole" || kind === "chunk");
        return state === "done" && got.map(({ text }) => text).join("") === texts.join("");
      }),
    );
  });
});
