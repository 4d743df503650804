import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFastResponseHeads } from "./fast-response.ts";
import {
  addressNotAdmitted,
  bodyTooLarge,
  httpErrors,
  formatRawRejection,
  tooManyWebSockets,
  rejectCredential,
  type HttpError,
} from "./http-errors.ts";
import { refuse } from "./http-errors.ts";

const all: Readonly<Record<string, HttpError>> = {
  ...httpErrors,
  unauthorized: rejectCredential({ kind: "refused", message: "send a key" }),
  notLookedAt: rejectCredential({ kind: "refused", message: "come again", retryAfterSeconds: 3 }),
  addressNotAdmitted: addressNotAdmitted("internal.networks"),
  bodyTooLarge: bodyTooLarge(5),
  tooManyWebSockets: tooManyWebSockets(3),
};

const server = createServer((request, response) => {
  const error = all[request.url?.slice(1) ?? ""];
  if (error !== undefined) refuse(request, response, error);
});
beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
afterAll(() => once(server.close(), "close"));

/** Returns node:http's response without the date, which a raw response need not have. */
async function nodeAnswer(name: string): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET /${name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return (await text(socket)).replace(/^Date: .*\r\n/m, "");
}

describe("a refusal over HTTP", () => {
  it.each(Object.entries(all))("%s is the same bytes from each of its writers", async (name, error) => {
    const heads = createFastResponseHeads(1_000, {
      wallClock: () => 0,
      ageHeaders: () => [],
      drain: { hasBegun: false },
    });
    const fast = heads.refusal(error, { extraHeaders: "", isLast: true, mayChunk: true });
    const answer = await nodeAnswer(name);
    expect(answer).toBe(formatRawRejection(error));
    expect(fast.replace(/^Date: .*\r\n/m, "")).toBe(answer);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${error.status} [A-Z][A-Za-z ]+\\r\\n`));
    expect(answer.endsWith(`\r\n\r\n${error.text}\n`)).toBe(true);
  });
});
