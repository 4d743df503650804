import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import {
  copyConnectionFilter,
  filterConnections,
  pushBackBytes,
  divertReads,
  sliceReads,
  type SocketReads,
} from "./raw-connections.ts";
import { listenLocally } from "../testing/local-server.ts";

/** Waits until a condition is true; on timeout, the error contains its code. */
const soon = (holds: () => boolean) => until(holds.toString(), generousMs, holds);

/** A server on a free port, until the end of the test. */
async function listening(server: Server) {
  const local = await listenLocally(server);
  const { port } = local;
  return {
    port,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

/** A server's socket and its client's socket. */
async function connected(port: number, server: Server): Promise<Readonly<{ accepted: Socket; client: Socket }>> {
  const accepting = once(server, "connection");
  const client = connect(port, "127.0.0.1");
  await once(client, "connect");
  const [accepted] = (await accepting) as [Socket];
  return { accepted, client };
}

describe("a socket with diverted reads", () => {
  it.each([
    ["into a shared buffer", {}],
    ["through its `push`, on a Node without the private symbols", { useUserBuffer: undefined }],
  ])("delivers every read %s instead of its stream, until released", async (_, missing) => {
    const server = createServer();
    await using at = await listening(server);
    const { accepted, client } = await connected(at.port, server);
    Object.assign((accepted as Socket & Readonly<{ _handle: object }>)._handle, missing);
    const taken: string[] = [];
    const streamed: string[] = [];
    const reads = divertReads(accepted, (bytes) => taken.push(bytes.toString()) > 0);
    accepted.on("data", (bytes: Buffer) => streamed.push(bytes.toString()));
    client.write("one");
    await soon(() => taken.join("") === "one");
    client.write("two");
    await soon(() => taken.join("") === "onetwo");
    expect(streamed).toEqual([]);
    reads.release();
    client.write("three");
    await soon(() => streamed.join("") === "three");
    pushBackBytes(accepted, Buffer.from("four"));
    await soon(() => streamed.join("") === "threefour");
    expect(taken.join("")).toBe("onetwo");
    client.destroy();
    accepted.destroy();
  });

  it("reads into a buffer shared by all sockets, until released", async () => {
    const server = createServer();
    await using at = await listening(server);
    const [one, other] = [await connected(at.port, server), await connected(at.port, server)];
    const taken: ArrayBufferLike[] = [];
    const texts: string[] = [];
    const [reads] = [one, other].map(({ accepted }) =>
      divertReads(accepted, (bytes) => {
        texts.push(bytes.toString());
        return taken.push(bytes.buffer) > 0;
      }),
    );
    for (const [{ client }, letter] of [
      [one, "a"],
      [other, "b"],
      [one, "c"],
    ] as const) {
      client.write(letter);
      await soon(() => texts.at(-1) === letter);
    }
    expect([texts, new Set(taken).size]).toEqual([["a", "b", "c"], 1]);
    const streamed: Buffer[] = [];
    one.accepted.on("data", (bytes: Buffer) => streamed.push(bytes));
    reads?.release();
    one.client.write("d");
    await soon(() => streamed.length === 1);
    other.client.write("e");
    await soon(() => texts.at(-1) === "e");
    expect([streamed.join(""), streamed.some(({ buffer }) => taken.includes(buffer))]).toEqual(["d", false]);
    for (const { accepted, client } of [one, other]) {
      client.destroy();
      accepted.destroy();
    }
  });

  it("pauses when the reader returns false, until resumed, and still reports its end", async () => {
    const server = createServer({ allowHalfOpen: true });
    await using at = await listening(server);
    const { accepted, client } = await connected(at.port, server);
    let takenBytes = 0;
    let isRequested = false;
    const reads: SocketReads = divertReads(accepted, (bytes) => {
      takenBytes += bytes.length;
      return isRequested;
    });
    accepted.resume();
    const ended = once(accepted, "end");
    const size = 1_000_000;
    client.end(Buffer.alloc(size));
    await soon(() => takenBytes > 0);
    const first = takenBytes;
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect([takenBytes, first < size]).toEqual([first, true]);
    isRequested = true;
    reads.resume();
    await ended;
    expect(takenBytes).toBe(size);
    client.destroy();
    accepted.destroy();
  });
});

describe("a socket with sliced reads", () => {
  it("delivers 4 KiB at a time, each after a wait if required, and its end after the last", async () => {
    const server = createServer({ allowHalfOpen: true });
    await using at = await listening(server);
    const { accepted, client } = await connected(at.port, server);
    const slices: number[] = [];
    let waits = 0;
    accepted.on("data", (bytes: Buffer) => slices.push(bytes.length));
    const ended = once(accepted, "end");
    const reads = sliceReads(accepted, (isFirst) => !isFirst && (waits += 1) > 0);
    pushBackBytes(accepted, Buffer.alloc(20_000));
    expect([slices, waits]).toEqual([[4_096], 1]);
    client.end();
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    reads.next();
    expect([slices, waits, accepted.readableEnded]).toEqual([[4_096, 4_096], 2, false]);
    reads.allow(10_000);
    reads.next();
    reads.next();
    await ended;
    expect([slices, waits]).toEqual([[4_096, 4_096, 10_000, 1_808], 3]);
    accepted.destroy();
  });

  it("does not read the socket while a slice is waiting, and reads everything at once when released", async () => {
    const server = createServer();
    await using at = await listening(server);
    const { accepted, client } = await connected(at.port, server);
    let isWaiting = false;
    let delivered = 0;
    accepted.on("data", (bytes: Buffer) => (delivered += bytes.length));
    const reads = sliceReads(accepted, () => (isWaiting = true));
    client.write(Buffer.alloc(1_000_000));
    await soon(() => isWaiting);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect([delivered, accepted.bytesRead <= 65_536]).toEqual([0, true]);
    reads.release();
    await soon(() => delivered === 1_000_000);
    client.destroy();
    accepted.destroy();
  });
});

describe("a server that filters connections before it creates a socket", () => {
  it("creates no socket for a rejected connection, and admits others; so does a server with a copied filter", async () => {
    const asked: string[] = [];
    const [first, second] = [createServer(), createServer()];
    filterConnections(first, (address) => {
      asked.push(address);
      return address === "127.0.0.2";
    });
    copyConnectionFilter(second, first);
    for (const server of [first, second]) {
      await using at = await listening(server);
      const sockets: Socket[] = [];
      server.on("connection", (socket) => sockets.push(socket.resume()));
      const rejected = connect({ port: at.port, host: "127.0.0.1", localAddress: "127.0.0.3" });
      rejected.on("error", () => undefined);
      await once(rejected, "close");
      const admitted = connect({ port: at.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      await soon(() => sockets.length > 0);
      expect(sockets.map(({ remoteAddress }) => remoteAddress)).toEqual(["127.0.0.2"]);
      admitted.destroy();
    }
    expect(asked).toEqual(["127.0.0.3", "127.0.0.2", "127.0.0.3", "127.0.0.2"]);
  });
});
