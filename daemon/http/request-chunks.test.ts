import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { limitChunks } from "./request-chunks.ts";
import { listenLocally } from "../testing/local-server.ts";

async function startServer(serve: RequestListener) {
  const server = createServer(serve);
  limitChunks(server);
  const local = await listenLocally(server);
  return {
    port: local.port,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

/** Sends a request regardless of early responses, then reads all output until the connection is closed. */
async function exchange(port: number, request: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const closeEvent = once(socket, "close");
  await new Promise((sent) => socket.write(request, sent));
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  await closeEvent;
  return text;
}

const head = (line: string, ...lines: string[]) =>
  [line, "Host: a", ...lines, "Connection: close", "Transfer-Encoding: chunked", "", ""].join("\r\n");
const post = head("POST / HTTP/1.1");
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const end = chunk("");

/** Reads a body, and responds at its end. */
const readBody = (parts: Buffer[]) => (incoming: IncomingMessage, response: { end: (text: string) => void }) => {
  incoming.on("data", (part: Buffer) => parts.push(part));
  incoming.on("end", () => response.end("read"));
};

describe("a chunked request body", () => {
  it("reaches its reader in a few reads, however many chunks it has", async () => {
    const parts: Buffer[] = [];
    await using server = await startServer(readBody(parts));
    const digits = Array.from({ length: 4_000 }, (_, place) => String(place % 10));
    expect(await exchange(server.port, `${post}${digits.map(chunk).join("")}${end}`)).toContain("read");
    expect(Buffer.concat(parts).toString()).toBe(digits.join(""));
    expect(parts.length).toBeLessThan(10);
  });

  it.each([
    ["that was answered before", "GET / HTTP/1.1", [], "200 OK"],
    ["with an expectation that the server does not know", "POST / HTTP/1.1", ["Expect: x"], "417 Expectation Failed"],
  ])("in tiny chunks, closes the connection of a request %s after its response", async (_, line, lines, status) => {
    await using server = await startServer((_incoming, response) => response.end());
    const response = await exchange(
      server.port,
      `${head(line, ...lines).replace("Connection: close\r\n", "")}${chunk(" ").repeat(100_000)}`,
    );
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\\r\\n`));
    expect(response.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});
