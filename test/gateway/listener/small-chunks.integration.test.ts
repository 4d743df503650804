import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sendRaw } from "#gateway/testing/raw-exchange.ts";
import { type TestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths, useGateway } from "#gateway/testing/use-gateway.ts";
import { buildRequest, openRaw } from "../../support/gateway/raw-call.ts";

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const head = (...lines: string[]) =>
  ["POST / HTTP/1.1", "Host: a", "Content-Type: application/json", "Transfer-Encoding: chunked", ...lines, "", ""].join(
    "\r\n",
  );
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunked = (chunkBytes: number, body: string) =>
  `${(body.match(new RegExp(`.{1,${chunkBytes}}`, "gs")) ?? []).map(chunk).join("")}${chunk("")}`;

/** A header that the fast path leaves to node:http. */
const unusual = "Proxy-Connection: keep-alive";

describe.each(bothPaths)("a body in many chunks, on %s", (_, fastPath) => {
  let gateway: TestGateway;
  useGateway({ listener: { fastPath } }, (started) => ({ gateway } = started), "all");
  const answerTo = (request: string) =>
    sendRaw(gateway.url, [Buffer.from(request, "latin1")], { expected: 1, quietMs: 100 });

  it.each([
    ["byte by byte if short", call.padEnd(4_000, " "), 1],
    ["in line-sized chunks, however many", `[${Array.from({ length: 900 }, () => call.padEnd(500)).join(",")}]`, 100],
  ])("is accepted %s", async (_name, body, chunkBytes) => {
    expect(await answerTo(`${head()}${chunked(chunkBytes, body)}`)).toContain('"result":"0x1"');
  });

  it.each([
    ["tiny chunks", [], chunk(" ").repeat(1_000_000), /^HTTP\/1\.1 400 [^]*send larger chunks\n$/],
    [
      "tiny chunks after an unusual head",
      [unusual],
      chunk(" ").repeat(1_000_000),
      /^HTTP\/1\.1 400 [^]*larger chunks\n$/,
    ],
    ["more than the limit", [], chunk(" ".repeat(128)).repeat(45_000), /^HTTP\/1\.1 413 [^]*at most 5242880 bytes\n$/],
    [
      "malformed chunks after megabytes of valid ones",
      [],
      `${chunk(" ".repeat(128)).repeat(25_000)}x`,
      /^HTTP\/1\.1 400 /,
    ],
  ])(
    "is rejected with %s, and the client gets the response after it has sent everything",
    async (_name, lines, body, response) => {
      const { socket, received } = openRaw(gateway.url, "");
      const closed = once(socket, "close");
      socket.pause();
      await new Promise((sent) => socket.write(`${head(...lines)}${body}`, sent));
      socket.resume();
      await closed;
      expect(received()).toMatch(response);
      expect(received()).toMatch(/\r\nConnection: close\r\n/i);
    },
  );
});

describe("a client that sends a lot of data at once for node:http to parse", () => {
  let gateway: TestGateway;
  useGateway({}, (started) => ({ gateway } = started));
  let parsed = 0;
  const count = () => (parsed += 1);
  beforeEach(() => void (parsed = 0));
  beforeAll(() => subscribe("http.server.request.start", count));
  afterAll(() => void unsubscribe("http.server.request.start", count));

  it.each([
    ["requests", "GET /none HTTP/1.1\r\nHost: a\r\n\r\n", 1_500],
    ["bodies in short chunks", `${head(unusual)}${chunked(1, call.padEnd(4_000, " "))}`, 20],
  ])("does not prevent another caller's call from being served before most of its %s", async (_, request, requests) => {
    using hostile = openRaw(gateway.url, "");
    using honest = openRaw(gateway.url, "");
    await Promise.all([hostile, honest].map(({ socket }) => once(socket, "connect")));
    hostile.socket.pause().write(request.repeat(requests));
    honest.socket.write(buildRequest(call));
    const answered = new Promise<number>((resolve) => honest.socket.once("data", () => resolve(parsed)));
    expect(await answered).toBeLessThan(requests / 2);
  });
});
