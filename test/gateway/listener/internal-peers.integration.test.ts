import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call, post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths } from "#gateway/testing/use-gateway.ts";

describe.each(bothPaths)("the internal listener, over %s", (_, fastPath) => {
  let node: FakeNode;
  beforeAll(async () => {
    node = await startFakeNode();
  });
  afterAll(() => node[Symbol.asyncDispose]());
  const start = (internal: object) =>
    startTestGateway(node, { internal: { enabled: true, ...internal }, listener: { fastPath } });

  it("serves loopback and private networks", async () => {
    await using gateway = await start({});
    const url = gateway.urls["internal"]!;
    expect((await call(url, "eth_syncing")).result).toBe("0x1");
    await using client = await connectTestClient(url);
    expect(await client.ask('{"jsonrpc":"2.0","id":1,"method":"eth_mining"}')).toContain("false");
  });

  it("responds to all other peers with 403, over HTTP and WebSocket, and reads no input from them", async () => {
    await using gateway = await start({ networks: ["192.0.2.0/24"] });
    const url = gateway.urls["internal"]!;
    const requestsBefore = node.requests.length;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { status, text } = await post(url, '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}');
      expect([status, text]).toEqual([403, expect.stringContaining("gateway.internal.networks")]);
    }
    await expect(connectTestClient(url)).rejects.toThrow("403");
    expect(node.requests.length).toBe(requestsBefore);
    expect((await call(gateway.url, "eth_syncing")).result).toBe("0x1");
  });

  it("names the setting for a Host or an Origin that is not allowed, over HTTP and WebSocket", async () => {
    await using gateway = await start({ allowedHosts: ["node.example"] });
    const allowed = "is not allowed; gateway.internal.allowedHosts lists the allowed ones\n";
    expect(await post(gateway.urls["internal"]!, "{}")).toMatchObject({ status: 403, text: `this Host ${allowed}` });
    await expect(connectTestClient(gateway.urls["internal"]!)).rejects.toThrow("403");
    const origins = "is not allowed; gateway.callers.corsOrigins lists the allowed ones\n";
    const foreign = await post(gateway.url, "{}", { Origin: "https://app.example" });
    expect(foreign).toMatchObject({ status: 403, text: `this Origin ${origins}` });
  });
});
