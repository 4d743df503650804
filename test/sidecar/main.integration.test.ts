import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** Returns the status of a response to a request with this Host header. */
async function statusBy(host: string, url: string): Promise<number | undefined> {
  const [response] = (await once(get(url, { headers: { Host: host } }), "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test("reports node health through probes, JSON status and a web page", async () => {
  await using node = await createFakeNode();
  await using runningSidecar = await runSidecar(node, { GATEHOUSE_SIDECAR_NODE_DATA_PATH: node.workspace });
  const { urls } = runningSidecar;
  const at = (path: string) => fetch(`${urls["sidecar"]}${path}`);
  await readUntil(
    async () => (await at("/startupz")).status,
    (status) => status === 200,
  );
  expect((await at("/livez")).status).toBe(200);
  // The node was never started, so it is not ready for traffic.
  expect((await at("/readyz")).status).toBe(503);
  const status = (await (await at("/status")).json()) as { healthy: boolean; conditions: { type: string }[] };
  expect(status.healthy).toBe(false);
  expect(status.conditions.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["ConfigReconciled", "RpcResponding"]),
  );
  const { figures } = await readUntil(
    async () => (await (await at("/status")).json()) as { figures: { disk?: { freeBytes: number } } },
    (answer) => answer.figures.disk !== undefined,
  );
  expect(figures.disk?.freeBytes).toBeGreaterThan(0);
  const page = await at("/");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await page.text()).toContain('<html lang="en">');
  expect((await at("/page/page.js")).headers.get("content-type")).toContain("text/javascript");
  expect(await (await at("/metrics")).text()).toContain('gatehouse_condition{type="ConfigReconciled"} 1');
  // A page whose name resolves to this machine can't read anything.
  for (const path of ["/status", "/metrics", "/"]) {
    expect(await statusBy("evil.example", `${urls["sidecar"]}${path}`)).toBe(403);
    expect(await statusBy("localhost", `${urls["sidecar"]}${path}`)).toBe(200);
  }
});
