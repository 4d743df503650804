import { describe, expect, it } from "vitest";
import { readBalance, client, createClientFetch, payee } from "../../support/payments/paying.ts";
import type { RunningStack } from "../../support/running-stack.ts";
import { findStackProcesses } from "../../support/stack-processes.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const at = (port: number, path = "") => `http://127.0.0.1:${port}${path}`;

export function testKills(running: () => RunningStack): void {
  /** Pays once, and checks on the chain that exactly one price was transferred from the client to the payee. */
  async function buyOnce(): Promise<void> {
    const node = at(running().ports.node);
    const [payeeBefore, clientBefore] = [
      await readBalance(node, payee.address),
      await readBalance(node, client.address),
    ];
    const response = await createClientFetch()(at(running().ports.resourceServer, "/data"));
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ data: "what the client paid for" }),
    ]);
    expect((await readBalance(node, payee.address)) - payeeBefore).toBe(10_000n);
    expect(clientBefore - (await readBalance(node, client.address))).toBe(10_000n);
  }

  /** The resource server responds 503 until its own next check, up to half a second after the facilitator is ready. */
  async function untilSelling(): Promise<void> {
    const data = at(running().ports.resourceServer, "/data");
    await until("a request without a payment gets 402", generousMs, async () => (await fetch(data)).status === 402);
  }

  describe("after kill -9", () => {
    it.each(["pushgateway", "sidecar", "facilitator", "upstream", "resource-server"])(
      "restarts the %s, and the next payment is charged once",
      async (name) => {
        const pid = findStackProcesses(running()).get(name);
        expect(pid).toBeDefined();
        process.kill(pid!, "SIGKILL");
        await until(`${name} is ready again`, generousMs, () => running().output().includes(`${name} is ready again`));
        await untilSelling();
        await buyOnce();
      },
    );

    it("restarts the node by the sidecar, and the next payment is charged once", async () => {
      const height = async () => {
        const response = await fetch(at(running().ports.node), {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] }),
        });
        return Number(((await response.json()) as { result: string }).result);
      };
      const heightBefore = await height();
      process.kill(findStackProcesses(running()).get("node")!, "SIGKILL");
      await until(
        "the node answers again, further on than before",
        60_000,
        async () => (await height()) > heightBefore,
      );
      await untilSelling();
      await buyOnce();
    });
  });
}
