import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { type TestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths, useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openRaw } from "../../support/gateway/raw-call.ts";

const request = (method: string) => buildRequest(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`);

/** Sends bytes, closes its own side, and reads the other side to its end. */
const sendAndEnd = (url: string, bytes: string) => text(openRaw(url, bytes, { allowHalfOpen: true }).socket.end());

describe.each(bothPaths)("a client that half-closes the connection, on %s", (_, fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({ listener: { fastPath } }, (started) => ({ node, gateway } = started));

  it("gets the responses that were available immediately", async () => {
    const responses = await sendAndEnd(gateway.url, request("eth_coinbase").repeat(2));
    expect(responses.match(/HTTP\/1\.1 200 OK\r\n[^]*?"result":"0x0"/g)).toHaveLength(2);
  });

  it("counts as disconnected: its pending call is cancelled, and the connection closed", async () => {
    const seen = { isLeft: false };
    node.respondAs((_call, response) => {
      response.on("close", () => (seen.isLeft = true));
      return responseWritten;
    });
    expect(await sendAndEnd(gateway.url, request("eth_syncing"))).toBe("");
    await until("the node's connection is closed", generousMs, () => seen.isLeft);
    await until("no call is in flight", generousMs, async () =>
      (await gateway.metrics.metrics()).includes("calls_in_flight 0"),
    );
  });
});
