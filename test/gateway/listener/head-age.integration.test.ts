import { describe, expect, it } from "vitest";
import { type FakeNode } from "#gateway/testing/fake-node.ts";
import { post, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths, useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const request = (id: number, method: string) => `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":[]}`;

describe.each(bothPaths)("the age of the latest block, over %s", (_, fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway(
    {
      listener: { fastPath },
      head: { tellAgeAfterMs: 60_000 },
      callers: { corsOrigins: ["*"] },
    },
    (started) => ({ node, gateway } = started),
  );
  const ageOf = async (body: string) => {
    const { status, headers } = await post(gateway.url, body, { Origin: "https://dapp.example" });
    expect(status).toBe(200);
    return headers.get("x-gatehouse-head-age");
  };
  /** Produces a head block of this age, and waits until the gateway knows it. */
  const newHead = async (number: number, secondsAgo: number) => {
    const timestamp = `0x${Math.floor(Date.now() / 1_000 - secondsAgo).toString(16)}`;
    node.newHead(number, undefined, { timestamp });
    await until("the gateway has the head", generousMs, () => gateway.readiness().message.endsWith(` ${number}`));
  };

  it("is in every response while it is too high, and in a metric at all times", async () => {
    expect(await ageOf(request(1, "eth_syncing"))).toBeNull();
    await newHead(1_001, 3_600);
    // The fast path notices it within a second.
    await until("it is reported", generousMs, async () => (await ageOf(request(1, "eth_syncing"))) !== null);
    for (const body of [request(1, "eth_syncing"), request(2, "eth_gasPrice"), `[${request(1, "eth_gasPrice")}]`]) {
      const age = Number(await ageOf(body));
      expect(age).toBeGreaterThanOrEqual(3_600);
      expect(age).toBeLessThan(3_660);
    }
    expect(await gateway.metrics.metrics()).toMatch(/^gatehouse_gateway_head_age_seconds 36[0-5]\d/m);
    await newHead(1_002, 5);
    await until("it is no longer reported", generousMs, async () => (await ageOf(request(1, "eth_syncing"))) === null);
    expect(await gateway.metrics.metrics()).toMatch(/^gatehouse_gateway_head_age_seconds \d{1,2}(\.\d+)?$/m);
    // Polled heads, too, are aged by their timestamp; one without a timestamp, from the time at which the gateway first saw it.
    node.takeLinks(false);
    node.cutLink();
    await newHead(1_003, 3_600);
    expect(await gateway.metrics.metrics()).toMatch(/^gatehouse_gateway_head_age_seconds 36[0-5]\d/m);
    node.newHead(1_004);
    await until("it is known", generousMs, () => gateway.readiness().message.endsWith(" 1004"));
    expect(await gateway.metrics.metrics()).toMatch(/^gatehouse_gateway_head_age_seconds \d{1,2}(\.\d+)?$/m);
  });

  it("is never negative, whatever the node's clock", async () => {
    await newHead(1_001, -3_600);
    expect(await ageOf(request(1, "eth_syncing"))).toBeNull();
    expect(await gateway.metrics.metrics()).toMatch(/^gatehouse_gateway_head_age_seconds \d{1,2}(\.\d+)?$/m);
  });

  it("is readable by a web page", async () => {
    const { headers } = await post(gateway.url, request(1, "eth_syncing"), { Origin: "https://dapp.example" });
    expect(headers.get("access-control-expose-headers")).toBe("Retry-After, X-Gatehouse-Source, X-Gatehouse-Head-Age");
  });
});
