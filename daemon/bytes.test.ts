import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Agent as Dispatcher, request as undiciRequest } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BodyTooLargeError, limitChunks, discardBody, readBody, readBodyStart, readText, type Body } from "./bytes.ts";
import { sendRequest } from "./http/send-request.ts";
import { listenLocally } from "./testing/local-server.ts";

let endlessSocket: Socket | undefined;

/** Responds to `/<bytes>` with that many bytes, and to `/endless` with an endless stream until the connection is closed. */
const server = createServer((incoming, response) => {
  if (incoming.url !== "/endless") {
    response.end("x".repeat(Number(incoming.url?.slice(1))));
    return;
  }
  endlessSocket = incoming.socket;
  const piece = Buffer.alloc(16_384, "x");
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
});
let origin = "";

beforeAll(async () => {
  origin = (await listenLocally(server)).url;
});
afterAll(() => server.close());

const { signal } = new AbortController();
const get = (path: string): Promise<IncomingMessage> =>
  sendRequest({ url: `${origin}${path}`, method: "GET", headers: {}, signal });
/** Resolves when the server has seen the connection of the newest endless response close. */
const connectionClosed = async () => {
  const socket = endlessSocket;
  if (socket === undefined) throw new Error("no endless response was read");
  if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
};

describe.each([
  ["node:http", async (path: string): Promise<Body> => get(path)],
  ["fetch", async (path: string): Promise<Body> => (await fetch(`${origin}${path}`)).body],
  ["undici", async (path: string): Promise<Body> => (await undiciRequest(`${origin}${path}`)).body],
])("the body of a %s response", (_, open) => {
  it("is read completely up to the limit", async () => {
    expect(await readText(await open("/1000"), 1_000)).toBe("x".repeat(1_000));
    expect((await readBody(await open("/0"), 0)).length).toBe(0);
  });

  it("aborts the request beyond the limit: the server sees its connection close", async () => {
    await expect(readBody(await open("/endless"), 100_000)).rejects.toThrow(new BodyTooLargeError(100_000));
    await connectionClosed();
  });

  it("is truncated, and its request aborted", async () => {
    const start = await readBodyStart(await open("/endless"), 100_000);
    expect({ length: start.bytes.length, isTruncated: start.isTruncated }).toEqual({
      length: 100_000,
      isTruncated: true,
    });
    await connectionClosed();
    expect(await readBodyStart(await open("/7"), 7)).toEqual({
      bytes: new TextEncoder().encode("xxxxxxx"),
      isTruncated: false,
    });
  });

  it("stops when its reader stops reading", async () => {
    for await (const chunk of limitChunks(await open("/endless"), 10_000_000)) {
      expect(chunk.byteLength).toBeGreaterThan(0);
      break;
    }
    await connectionClosed();
  });
});

it("frees its pooled connection for the next request", async () => {
  await using dispatcher = closing(new Dispatcher({ connections: 1 }));
  for (let round = 0; round < 3; round += 1) {
    const { body } = await undiciRequest(`${origin}/endless`, { dispatcher: dispatcher.agent });
    await expect(readBody(body, 10)).rejects.toThrow(BodyTooLargeError);
  }
  const { body } = await undiciRequest(`${origin}/3`, { dispatcher: dispatcher.agent });
  expect(await readText(body, 10)).toBe("xxx");
});

it("reads a response without a body as empty", async () => {
  expect((await readBody(null, 10)).length).toBe(0);
  expect(await readBodyStart(null, 10)).toEqual({ bytes: new Uint8Array(), isTruncated: false });
});

it("discards an unwanted body up to its limits", async () => {
  const limits = { bytesMax: 100_000, deadlineMs: 20_000 };
  expect(await discardBody(null, limits)).toBe(true);
  expect(await discardBody((await fetch(`${origin}/5000`)).body, limits)).toBe(true);
  const endless = await fetch(`${origin}/endless`);
  expect(await discardBody(endless.body, limits)).toBe(false);
  expect(await discardBody(endless.body, limits)).toBe(false);
  expect(await discardBody(new ReadableStream(), { bytesMax: 1, deadlineMs: 5 })).toBe(false);
});

function closing(agent: Dispatcher) {
  return { agent, [Symbol.asyncDispose]: () => agent.destroy() };
}
