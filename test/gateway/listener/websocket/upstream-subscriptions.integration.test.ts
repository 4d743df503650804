import { expect, it } from "vitest";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const logsOf = (at: number) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "eth_subscribe",
    params: ["logs", { address: `0x${String(at).padStart(40, "0")}` }],
  });

async function subscribe(client: TestClient, at: number): Promise<string> {
  const answer = JSON.parse(await client.ask(logsOf(at))) as { result?: string; error?: { message: string } };
  return answer.error?.message ?? "subscribed";
}

it("subscriptions at the node are bounded in all and by caller, equal ones are one, and ended ones make room", async () => {
  await using node = await startFakeNode();
  await using gateway = await startTestGateway(node, {
    tiers: { public: limitlessTier },
    callers: { trustedProxies: ["127.0.0.1"] },
    webSocket: { upstreamSubscriptions: 3, upstreamSubscriptionsPerCaller: 2 },
  });
  await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
  const from = (address: string) => connectTestClient(gateway.url, { "X-Forwarded-For": address });
  await using first = await from("9.9.9.1");
  await using second = await from("9.9.9.1");
  await using other = await from("9.9.9.2");
  expect(await subscribe(first, 1)).toBe("subscribed");
  expect(await subscribe(second, 2)).toBe("subscribed");
  const mostOfCaller = "more than 2 different subscriptions of one caller; end one first";
  expect([await subscribe(first, 3), await subscribe(second, 3)]).toEqual([mostOfCaller, mostOfCaller]);
  expect([await subscribe(first, 2), await subscribe(other, 2)]).toEqual(["subscribed", "subscribed"]);
  expect(await subscribe(other, 3)).toBe("subscribed");
  expect(await subscribe(other, 4)).toBe("too many different subscriptions; try again later");
  expect(node.subscriptions()).toBe(4);
  first.socket.terminate();
  await until("what only it had is ended", generousMs, () => node.subscriptions() === 3);
  expect(await subscribe(other, 4)).toBe("subscribed");
  expect(await gateway.metrics.metrics()).toContain(
    'gatehouse_gateway_limited_total{limit="subscriptions",tier="public"} 3',
  );
});
