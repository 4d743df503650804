import { PassThrough, Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RejectedBodies } from "./rejected-bodies.ts";

const pieceBytes = 65_536;
const secondMs = 1_000;
/** Max bytes of rejected bodies that are read per second, and how far one read may exceed it. */
const bytesOfSecond = 16_777_216;
const overBytes = 10 * pieceBytes;

/** A sender that always has more data, until its body ends after this many bytes. */
function sender(lengthBytes = Number.POSITIVE_INFINITY) {
  const state = { readBytes: 0, hasEnded: false };
  const request = new Readable({
    highWaterMark: pieceBytes,
    read() {
      if (state.readBytes >= lengthBytes) this.push(null);
      else {
        state.readBytes += pieceBytes;
        this.push(Buffer.alloc(pieceBytes));
      }
    },
  });
  const response = new PassThrough();
  response.on("finish", () => (state.hasEnded = true));
  response.resume();
  return { state, exchange: { request, response } };
}

/** Advances the time; in each millisecond, the streams run one event loop tick. */
async function pass(ms: number) {
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 10) {
    await vi.advanceTimersByTimeAsync(10);
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("rejected bodies", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }));
  afterEach(() => void vi.useRealTimers());

  it("are read at 16 MiB a second in total", async () => {
    using bodies = new RejectedBodies();
    const senders = Array.from({ length: 20 }, () => sender());
    senders.forEach(({ exchange }, at) => bodies.discard(exchange, `10.0.0.${at % 4}`));
    await pass(secondMs);
    const readBytes = senders.reduce((sum, { state }) => sum + state.readBytes, 0);
    expect(readBytes).toBeGreaterThan(bytesOfSecond / 2);
    // One more piece of each body is buffered in its stream.
    expect(readBytes).toBeLessThan(bytesOfSecond + overBytes + 20 * 2 * pieceBytes);
  });

  it("are read round-robin by address: a hundred bodies from one don't delay a single body from another", async () => {
    using bodies = new RejectedBodies();
    for (let at = 0; at < 100; at += 1) bodies.discard(sender().exchange, "10.0.0.1");
    const { exchange, state } = sender(5_242_880);
    bodies.discard(exchange, "10.0.0.2");
    await pass(secondMs);
    expect(state.hasEnded).toBe(true);
  });

  it("are read up to 16 MiB each", async () => {
    using bodies = new RejectedBodies();
    const { exchange, state } = sender();
    bodies.discard(exchange, "10.0.0.1");
    await pass(1.5 * secondMs);
    expect(state.hasEnded).toBe(true);
    expect(state.readBytes).toBeLessThan(bytesOfSecond + overBytes);
  });

  it("are read for up to two seconds", async () => {
    using bodies = new RejectedBodies();
    const senders = Array.from({ length: 20 }, () => sender());
    for (const { exchange } of senders) bodies.discard(exchange, "10.0.0.1");
    await pass(1.9 * secondMs);
    expect(senders.some(({ state }) => state.hasEnded)).toBe(false);
    await pass(0.2 * secondMs);
    expect(senders.every(({ state }) => state.hasEnded)).toBe(true);
  });
});
