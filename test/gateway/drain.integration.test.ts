import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { pause } from "#daemon/time.ts";
import { byHand, startFakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { call, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

describe("a gateway that stops", () => {
  it("answers the 1,000 calls under way and those that still come, and fails none", async () => {
    await using node = await startFakeNode();
    const gateway = await startTestGateway(node, { tiers: { public: limitlessTier } }, undefined, pause);
    const waiting: (() => void)[] = [];
    node.answer(({ id }, response) => {
      waiting.push(() => {
        const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"late"}`;
        response.writeHead(200, { "Content-Length": text.length }).end(text);
      });
      return byHand;
    });
    const underWay = Array.from({ length: 1_000 }, () => call(gateway.url, "eth_syncing"));
    await until("all calls are under way", generousMs, async () =>
      (await gateway.metrics.metrics()).includes("gatehouse_gateway_calls_in_flight 1000"),
    );
    const stopped = gateway[Symbol.asyncDispose]();
    const pump = setInterval(() => waiting.splice(0).forEach((finish) => finish()), 1);
    const answers = await Promise.all(underWay);
    await stopped;
    clearInterval(pump);
    expect(answers.filter(({ result }) => result !== "late")).toEqual([]);
    await expect(call(gateway.url, "eth_coinbase")).rejects.toThrow("fetch failed");
  });

  it("does not wait for clients that leave their side of an idle connection open", async () => {
    await using node = await startFakeNode();
    const gateway = await startTestGateway(node, {}, undefined, pause);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on("error", () => socket.destroy());
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "data");
    // The client never ends its side: waiting for it would last until the test's own deadline.
    await gateway[Symbol.asyncDispose]();
    socket.destroy();
  });
});
