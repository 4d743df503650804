import { expect, it } from "vitest";
import { HeldRequests, ReceivedBytes } from "./received-bytes.ts";

it("keeps bytes in order in any chunking, and discards dropped ones", () => {
  const receivedBytes = new ReceivedBytes();
  for (const piece of ["ab", "c", "defgh", "i"]) receivedBytes.append(Buffer.from(piece));
  receivedBytes.drop(3);
  receivedBytes.append(Buffer.from("jk"));
  expect([receivedBytes.bytes.toString(), receivedBytes.length]).toEqual(["defghijk", 8]);
  receivedBytes.drop(8);
  expect([receivedBytes.bytes.toString(), receivedBytes.length]).toEqual(["", 0]);
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
  const chargedMemory = { bytes: 0, waiting: 0 };
  const memory = {
    hold: () => true,
    tryAcquire: (bytes: number) => (chargedMemory.bytes += bytes) > 0,
    release: (bytes: number) => void (chargedMemory.bytes -= bytes),
    waits: (bytes: number) => void (chargedMemory.waiting += bytes),
  };
  const heldRequests = new HeldRequests(memory, 0);
  const piece = Buffer.alloc(20_000, "a");
  heldRequests.append(piece);
  expect([heldRequests.count(), chargedMemory]).toEqual([true, { bytes: 20_000, waiting: 20_000 }]);
  const taken = heldRequests.take();
  expect([taken.buffer.byteLength, chargedMemory]).toEqual([20_000, { bytes: 20_000, waiting: 0 }]);
  piece.fill("b");
  expect(taken.equals(Buffer.alloc(20_000, "a"))).toBe(true);
});
