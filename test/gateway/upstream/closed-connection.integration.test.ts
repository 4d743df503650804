import { describe, expect, it } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { call, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

describe("a node that closes a keep-alive connection as a call arrives", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway(
    {
      methods: { my_method: { audience: "public" } },
      upstream: { connections: 1 },
    },
    async (started) => {
      ({ node, gateway } = started);
      await call(gateway.url, "eth_syncing");
      node.respondAs((_, response) => {
        node.respondAs(() => "again");
        response.socket?.destroy();
        return responseWritten;
      });
    },
  );
  const asked = (method: string) => node.requests.filter((request) => request.method === method).length;

  it.each(["eth_gasPrice", "eth_syncing", "eth_estimateGas"])("gets %s again, on a new connection", async (method) => {
    const requestsBefore = asked(method);
    expect((await call(gateway.url, method)).result).toBe("again");
    expect(asked(method) - requestsBefore).toBe(2);
  });

  it.each(["eth_sendRawTransaction", "my_method"])("never gets %s twice", async (method) => {
    expect((await call(gateway.url, method)).error).toMatchObject({ code: -32603 });
    expect(asked(method)).toBe(1);
  });

  it("gets a call again, even while other calls wait for a connection", async () => {
    let close: (() => void) | undefined;
    node.respondAs((_, response) => {
      node.respondAs(() => "again");
      close = () => response.socket?.destroy();
      return responseWritten;
    });
    const first = call(gateway.url, "eth_gasPrice");
    await until("the call is at the node", generousMs, () => close !== undefined);
    const second = call(gateway.url, "eth_syncing");
    await until("another call waits", generousMs, async () =>
      /calls_queued [1-9]/.test(await gateway.metrics.metrics()),
    );
    close?.();
    expect([(await first).result, (await second).result]).toEqual(["again", "again"]);
  });
});
