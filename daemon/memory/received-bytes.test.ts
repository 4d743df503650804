import { expect, it } from "vitest";
import { HeldRequests, ReceivedBytes } from "./received-bytes.ts";

it("keeps bytes in order in any chunking, and discards dropped ones", () => {
  const received = new ReceivedBytes();
  for (const piece of ["ab", "c", "defgh", "i"]) received.append(Buffer.from(piece));
  received.drop(3);
  received.append(Buffer.from("jk"));
  expect([received.bytes.toString(), received.length]).toEqual(["defghijk", 8]);
  received.drop(8);
  expect([received.bytes.toString(), received.length]).toEqual(["", 0]);
});

it("never changes bytes it has returned", () => {
  const received = new ReceivedBytes();
  received.append(Buffer.from("first"));
  received.append(Buffer.from("second"));
  const { bytes } = received;
  received.drop(5);
  for (let count = 0; count < 100; count += 1) received.append(Buffer.from("more"));
  expect(bytes.toString()).toBe("firstsecond");
});

it("uses at most twice the memory of its bytes, however small the chunks", () => {
  const received = new ReceivedBytes();
  for (let count = 0; count < 100_000; count += 1) received.append(Buffer.from("x"));
  expect(received.bytes.buffer.byteLength).toBeLessThanOrEqual(200_000);
});

it("keeps the rest of a chunk when its buffer is reused", () => {
  const received = new ReceivedBytes();
  const piece = Buffer.from("first second");
  received.append(piece);
  received.drop("first ".length);
  received.own();
  piece.fill("x");
  expect(received.bytes.toString()).toBe("second");
  received.append(Buffer.from(" third"));
  received.own();
  expect(received.bytes.toString()).toBe("second third");
});

it("takes a request in its own buffer, which no longer counts as waiting but stays charged", () => {
  const charged = { bytes: 0, waiting: 0 };
  const memory = {
    hold: () => true,
    tryAcquire: (bytes: number) => (charged.bytes += bytes) > 0,
    release: (bytes: number) => void (charged.bytes -= bytes),
    waits: (bytes: number) => void (charged.waiting += bytes),
  };
  const received = new HeldRequests(memory, 0);
  const piece = Buffer.alloc(20_000, "a");
  received.append(piece);
  expect([received.count(), charged]).toEqual([true, { bytes: 20_000, waiting: 20_000 }]);
  const taken = received.take();
  expect([taken.buffer.byteLength, charged]).toEqual([20_000, { bytes: 20_000, waiting: 0 }]);
  piece.fill("b");
  expect(taken.equals(Buffer.alloc(20_000, "a"))).toBe(true);
});
