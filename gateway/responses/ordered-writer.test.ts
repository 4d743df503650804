import { array, assert, boolean, constantFrom, integer, property, record, string, type Arbitrary } from "fast-check";
import { describe, expect, it } from "vitest";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { ResponseSink, ResponseSource } from "./response-sink.ts";
import { OrderedWriter, type Entry, type OrderedWriterOptions } from "./ordered-writer.ts";

const manyBytes = 1e9;

/** A reader that pauses after this many parts, and the memory for the writer's entries. */
function startReader(partsAtOnce: number) {
  const seen = {
    text: "",
    parts: 0,
    ends: 0,
    source: undefined as ResponseSource | undefined,
    isWaiting: false,
    lateParts: 0,
  };
  const ended = (source: ResponseSource) => {
    seen.ends += 1;
    seen.source = source;
  };
  const sink: ResponseSink = {
    text: (json, source, retryAfterSeconds) => {
      expect(retryAfterSeconds, "the writer rejects nothing").toBeUndefined();
      seen.text += json;
      ended(source);
    },
    bytes: () => expect.unreachable("the writer writes text"),
    begin: (_, source) => (seen.source = source),
    chunk: (bytes) => {
      if (seen.isWaiting) seen.lateParts += 1;
      seen.text += bytes.toString("latin1");
      seen.parts += 1;
      seen.isWaiting = seen.parts % partsAtOnce === 0;
      return !seen.isWaiting;
    },
    end: () => (seen.ends += 1),
    fail: () => expect.unreachable("the writer aborts nothing"),
  };
  const cache = { bytes: () => 0, evict: () => undefined };
  const options = { totalBytes: manyBytes, addressBytes: manyBytes, connectionBytes: manyBytes };
  const budget = new MemoryBudget(options, { cache });
  const memory = new ConnectionMemory(budget, {
    address: () => "a",
    cut: () => expect.unreachable("nothing is cut off"),
  });
  return { sink, memory, budget, seen };
}

/** Entries with one of a few sources and a text that is empty, short, or longer than one write. */
const entries = array(
  record({
    text: constantFrom("", "1", '"0x1"', "x".repeat(3_000), "y".repeat(70_000)),
    source: constantFrom<ResponseSource>("node", "cache"),
    /** Determines the order of entries, and after which of them the writer is flushed. */
    at: integer(),
    isFlushed: boolean(),
    /** Number of parts in which it is supplied; 0 means as a text. */
    parts: integer({ min: 0, max: 3 }),
  }),
  { maxLength: 12 },
);

const frames: Arbitrary<OrderedWriterOptions> = record({
  slots: integer(),
  head: string({ unit: "grapheme-ascii", maxLength: 40 }),
  tail: constantFrom("]", "]}"),
  empty: constantFrom("", "{}"),
});

type Entries = readonly Readonly<{
  text: string;
  source: ResponseSource;
  at: number;
  isFlushed: boolean;
  parts?: number;
}>[];

/** The entry as passed to the writer. */
function createEntry({ text, parts = 0 }: Entries[number]): Entry {
  if (parts === 0 || text === "") return text;
  const partBytes = Math.ceil(text.length / parts);
  return Array.from({ length: parts }, (_, at) =>
    Buffer.from(text.slice(at * partBytes, (at + 1) * partBytes), "latin1"),
  );
}

function expectedText(texts: readonly string[], { head, tail, empty }: OrderedWriterOptions): string {
  const responseTexts = texts.filter((text) => text !== "");
  return responseTexts.length === 0 ? empty : head + responseTexts.join(",") + tail;
}

/** Adds the entries in the drawn order, and resumes the reader whenever it waits and all have been added. */
function write(all: Entries, frame: OrderedWriterOptions, partsAtOnce: number, limitBytes?: number) {
  const { sink, memory, budget, seen } = startReader(partsAtOnce);
  let endings = 0;
  const room = limitBytes === undefined ? {} : { room: { limitBytes, entryWithout: (slot: number) => `no ${slot}` } };
  const writer = new OrderedWriter(
    { ...frame, slots: all.length },
    { sink, memory, ending: () => (endings += 1), ...room },
  );
  const order = all.map(({ at }, slot) => ({ at, slot })).toSorted((one, other) => one.at - other.at);
  for (const { slot } of order) {
    const own = all[slot];
    if (own === undefined) continue;
    writer.put(slot, createEntry(own), own.source);
    if (own.isFlushed) writer.flush();
  }
  writer.flush();
  for (let rounds = 0; seen.isWaiting && rounds <= 4 * all.length; rounds += 1) {
    seen.isWaiting = false;
    writer.resume();
    writer.flush();
  }
  writer.flush();
  return { seen, endings, heldBytes: budget.bytes, writer };
}

/** The entry that is next in order. */
const entry = (text: string, source: ResponseSource, isFlushed = false) => ({ text, source, at: 0, isFlushed });

describe("a response in several parts", () => {
  it("has the same bytes in any order of entries and reads, and releases all memory at the end", () => {
    assert(
      property(entries, frames, integer({ min: 1, max: 4 }), (all, frame, partsAtOnce) => {
        const { seen, endings, heldBytes, writer } = write(all, frame, partsAtOnce);
        expect(seen.text).toBe(
          expectedText(
            all.map(({ text }) => text),
            frame,
          ),
        );
        expect({ ends: seen.ends, endings, lateParts: seen.lateParts, heldBytes }).toEqual({
          ends: 1,
          endings: 1,
          lateParts: 0,
          heldBytes: 0,
        });
        expect([writer.turn, writer.bytes]).toEqual([all.length, writer.writtenBytes]);
      }),
    );
  });

  it("replaces the same oversized entries in any order of arrival", () => {
    assert(
      property(entries, frames, integer({ min: 0, max: 150_000 }), (given, frame, limitBytes) => {
        const inOrder = given.map((one, at) => ({ ...one, at }));
        const [one, other] = [write(given, frame, 1, limitBytes), write(inOrder, frame, 4, limitBytes)];
        expect(one.seen.text).toBe(other.seen.text);
        expect([one.heldBytes, other.heldBytes]).toEqual([0, 0]);
        const sizes = given.map(({ text }) => text.length);
        if (sizes.reduce((sum, size) => sum + size, 0) > limitBytes) expect(one.seen.text).toContain("no ");
      }),
    );
  });

  it("reports the common source of all parts, or mixed if they differ or streaming began early", () => {
    const frame = { slots: 0, head: "[", tail: "]", empty: "" };
    const sourceOf = (given: Entries) => write(given, frame, 4).seen.source;
    expect(sourceOf([entry("1", "cache"), entry("2", "cache")])).toBe("cache");
    expect(sourceOf([entry("1", "cache"), entry("2", "node")])).toBe("mixed");
    expect(sourceOf([entry("x".repeat(70_000), "node", true), entry("2", "node")])).toBe("mixed");
    expect(sourceOf([])).toBe("gateway");
  });

  it("sends a long entry without copying its chunks, and reports the length if complete", () => {
    const { sink, memory, seen } = startReader(100);
    const sent: Buffer[] = [];
    let reportedBytes: number | undefined;
    const writer = new OrderedWriter(
      { slots: 2, head: "[", tail: "]", empty: "" },
      {
        memory,
        sink: {
          ...sink,
          begin: (lengthBytes) => (reportedBytes = lengthBytes),
          chunk: (bytes) => {
            sent.push(bytes);
            return sink.chunk(bytes);
          },
        },
      },
    );
    const parts = [Buffer.from('"long'), Buffer.from('er"')];
    writer.put(1, "2", "node");
    writer.put(0, parts, "node");
    writer.flush();
    expect([seen.text, reportedBytes]).toEqual(['["longer",2]', 12]);
    expect(parts.every((part) => sent.includes(part))).toBe(true);
  });
});
