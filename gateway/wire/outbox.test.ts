import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Outbox, outboxBytes, ScratchBuffers } from "./outbox.ts";

const server = createServer();
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => server.close());

/** Both ends of a new connection. */
async function pair(): Promise<Readonly<{ near: Socket; far: Socket }>> {
  const taken = once(server, "connection") as Promise<[Socket]>;
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(near, "connect");
  const [far] = await taken;
  return { near, far };
}

test("text and bytes are sent in order, each on its own socket", async () => {
  const [one, two] = [await pair(), await pair()];
  const outbox = new Outbox();
  outbox.write(one.near, "a");
  outbox.writeBytes(two.near, "head ", Buffer.from("body"));
  outbox.writeBytes(one.near, "b", Buffer.from("c"));
  outbox.write(one.near, "\xe9");
  outbox.flush();
  one.near.end();
  two.near.end();
  expect((await buffer(one.far)).toString("latin1")).toBe("abc\xe9");
  expect((await buffer(two.far)).toString("latin1")).toBe("head body");
});

test("a socket is closed only after its pending writes", async () => {
  const { near, far } = await pair();
  const outbox = new Outbox();
  outbox.write(near, "a");
  outbox.after(near, (socket) => socket.destroySoon());
  expect(near.writable).toBe(true);
  expect((await buffer(far)).toString()).toBe("a");
});

test("bytes are copied, so that their buffer may be overwritten at once", async () => {
  const { near, far } = await pair();
  const outbox = new Outbox();
  const bytes = Buffer.from("kept");
  outbox.writeBytes(near, "", bytes);
  bytes.fill("x");
  outbox.flush();
  near.end();
  expect((await buffer(far)).toString()).toBe("kept");
});

test("data that a slow reader has not taken yet is unaffected by later writes", async () => {
  const [slow, quick] = [await pair(), await pair()];
  const outbox = new Outbox();
  const count = 2_000;
  quick.far.resume();
  for (let index = 0; index < count; index += 1) {
    outbox.writeBytes(slow.near, "", Buffer.alloc(outboxBytes, index % 256));
    outbox.writeBytes(quick.near, "", Buffer.alloc(outboxBytes, 0xff));
  }
  outbox.flush();
  slow.near.end();
  quick.near.end();
  const receivedBytes = await buffer(slow.far);
  expect(receivedBytes.length).toBe(count * outboxBytes);
  const expected = Buffer.concat(Array.from({ length: count }, (_, index) => Buffer.alloc(outboxBytes, index % 256)));
  expect(receivedBytes.equals(expected)).toBe(true);
});

test("memory is reused only after its release", () => {
  const scratch = new ScratchBuffers();
  const one = scratch.acquire(20_000);
  const other = scratch.acquire(20_000);
  expect(other.buffer).not.toBe(one.buffer);
  scratch.release(one);
  expect(scratch.acquire(30_000).buffer).toBe(one.buffer);
  expect(scratch.acquire(30_000).buffer).not.toBe(one.buffer);
});

test("a message reserves at most twice its length", () => {
  const scratch = new ScratchBuffers();
  for (let length = 9_000; length < 500_000; length += 1_000) {
    const acquiredBuffer = scratch.acquire(length);
    expect(acquiredBuffer.length).toBe(length);
    expect(acquiredBuffer.buffer.byteLength).toBeLessThanOrEqual(2 * length);
    scratch.release(acquiredBuffer);
  }
});
