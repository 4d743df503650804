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
  const connectionEvent = once(server, "connection");
  const client = connect(port, "127.0.0.1");
  await once(client, "connect");
  const [acceptedSocket] = (await connectionEvent) as [Socket];
  return { accepted: acceptedSocket, client };
}

describe("a socket with diverted reads", () => {
  it.each([
    ["into a shared buffer", {}],
    ["through its `push`, on a Node without the private symbols", { useUserBuffer: undefined }],
  ])("delivers every read %s instead of its stream, until released", async (_, missing) => {
    const server = createServer();
    await using at = await listening(server);
    const { accepted: acceptedSocket, client } = await connected(at.port, server);
    Object.assign((acceptedSocket as Socket & Readonly<{ _handle: object }>)._handle, missing);
    const taken: string[] = [];
    const streamedTexts: string[] = [];
    const reads = divertReads(acceptedSocket, (bytes) => taken.push(bytes.toString()) > 0);
    acceptedSocket.on("data", (bytes: Buffer) => streamedTexts.push(bytes.toString()));
    client.write("one");
    await soon(() => taken.join("") === "one");
    client.write("two");
    await soon(() => taken.join("") === "onetwo");
    expect(streamedTexts).toEqual([]);
    reads.release();
    client.write("three");
    await soon(() => streamedTexts.join("") === "three");
    pushBackBytes(acceptedSocket, Buffer.from("four"));
    await soon(() => streamedTexts.join("") === "threefour");
    expect(taken.join("")).toBe("onetwo");
    client.destroy();
    acceptedSocket.destroy();
  });

  it("reads into a buffer shared by all sockets, until released", async () => {
    const server = createServer();
    await using at = await listening(server);
    const [one, other] = [await connected(at.port, server), await connected(at.port, server)];
    const taken: ArrayBufferLike[] = [];
    const texts: string[] = [];
    const [reads] = [one, other].map(({ accepted: acceptedSocket }) =>
      divertReads(acceptedSocket, (bytes) => {
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
    const streamedTexts: Buffer[] = [];
    one.accepted.on("data", (bytes: Buffer) => streamedTexts.push(bytes));
    reads?.release();
    one.client.write("d");
    await soon(() => streamedTexts.length === 1);
    other.client.write("e");
    await soon(() => texts.at(-1) === "e");
    expect([streamedTexts.join(""), streamedTexts.some(({ buffer }) => taken.includes(buffer))]).toEqual(["d", false]);
    for (const { accepted: acceptedSocket, client } of [one, other]) {
      client.destroy();
      acceptedSocket.destroy();
    }
  });

  it("pauses when the reader returns false, until resumed, and still reports its end", async () => {
    const server = createServer({ allowHalfOpen: true });
    await using at = await listening(server);
    const { accepted: acceptedSocket, client } = await connected(at.port, server);
    let takenBytes = 0;
    let isRequested = false;
    const reads: SocketReads = divertReads(acceptedSocket, (bytes) => {
      takenBytes += bytes.length;
      return isRequested;
    });
    acceptedSocket.resume();
    const ended = once(acceptedSocket, "end");
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
    acceptedSocket.destroy();
  });
});

describe("a socket with sliced reads", () => {
  it("delivers 4 KiB at a time, each after a wait if required, and its end after the last", async () => {
    const server = createServer({ allowHalfOpen: true });
    await using at = await listening(server);
    const { accepted: acceptedSocket, client } = await connected(at.port, server);
    const slices: number[] = [];
    let waits = 0;
    acceptedSocket.on("data", (bytes: Buffer) => slices.push(bytes.length));
    const ended = once(acceptedSocket, "end");
    const reads = sliceReads(acceptedSocket, (isFirst) => !isFirst && (waits += 1) > 0);
    pushBackBytes(acceptedSocket, Buffer.alloc(20_000));
    expect([slices, waits]).toEqual([[4_096], 1]);
    client.end();
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    reads.next();
    expect([slices, waits, acceptedSocket.readableEnded]).toEqual([[4_096, 4_096], 2, false]);
    reads.allow(10_000);
    reads.next();
    reads.next();
    await ended;
    expect([slices, waits]).toEqual([[4_096, 4_096, 10_000, 1_808], 3]);
    acceptedSocket.destroy();
  });

  it("does not read the socket while a slice is waiting, and reads everything at once when released", async () => {
    const server = createServer();
    await using at = await listening(server);
    const { accepted: acceptedSocket, client } = await connected(at.port, server);
    let isWaiting = false;
    let deliveredBytes = 0;
    acceptedSocket.on("data", (bytes: Buffer) => (deliveredBytes += bytes.length));
    const reads = sliceReads(acceptedSocket, () => (isWaiting = true));
    client.write(Buffer.alloc(1_000_000));
    await soon(() => isWaiting);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect([deliveredBytes, acceptedSocket.bytesRead <= 65_536]).toEqual([0, true]);
    reads.release();
    await soon(() => deliveredBytes === 1_000_000);
    client.destroy();
    acceptedSocket.destroy();
  });
});

describe("a server that filters connections before it creates a socket", () => {
  it("creates no socket for a rejected connection, and admits others; so does a server with a copied filter", async () => {
    const asked: string[] = [];
    const [first, secondServer] = [createServer(), createServer()];
    filterConnections(first, (address) => {
      asked.push(address);
      return address === "127.0.0.2";
    });
    copyConnectionFilter(secondServer, first);
    for (const server of [first, secondServer]) {
      await using at = await listening(server);
      const sockets: Socket[] = [];
      server.on("connection", (socket) => sockets.push(socket.resume()));
      const rejectedSocket = connect({ port: at.port, host: "127.0.0.1", localAddress: "127.0.0.3" });
      rejectedSocket.on("error", () => undefined);
      await once(rejectedSocket, "close");
      const admittedSocket = connect({ port: at.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      await soon(() => sockets.length > 0);
      expect(sockets.map(({ remoteAddress }) => remoteAddress)).toEqual(["127.0.0.2"]);
      admittedSocket.destroy();
    }
    expect(asked).toEqual(["127.0.0.3", "127.0.0.2", "127.0.0.3", "127.0.0.2"]);
  });
});
