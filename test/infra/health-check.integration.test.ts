import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const program = join(import.meta.dirname, "../../infra/images/health-check.mjs");
const hourMs = 3_600_000;

/**
 * A service and a container's `/tmp`. `check` runs the health check like an engine, and reports its result and when it
 * sent requests.
 */
async function service() {
  const directory = await makeTestDirectory();
  const state = { status: 200, askedAt: 0 };
  const server = createServer((_request, response) => {
    state.askedAt = performance.now();
    response.writeHead(state.status).end();
  });
  const local = await listenLocally(server);
  const url = `${local.url}/readyz`;
  const check = async (restMs: number) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, [program, "http", url, String(restMs)], { env: { TMPDIR: directory } });
    const [status] = (await once(child, "exit")) as [number | null];
    return { status, askedAfterMs: state.askedAt - startedAt };
  };
  return {
    state,
    /** The status of a check that must not wait, because its delay of an hour would outlast the test. */
    checkAtOnce: async () => (await check(hourMs)).status,
    checkRested: () => check(1_000),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
    },
  };
}

it("the health check queries a starting service at once, and a healthy one after a delay", async () => {
  await using startingService = await service();
  startingService.state.status = 503;
  expect(await startingService.checkAtOnce()).toBe(1);
  startingService.state.status = 200;
  expect(await startingService.checkAtOnce()).toBe(0);
  const { status, askedAfterMs } = await startingService.checkRested();
  expect(status).toBe(0);
  expect(askedAfterMs).toBeGreaterThanOrEqual(1_000);
});

it("the health check detects an unhealthy service after the delay, then queries it at once", async () => {
  await using failingService = await service();
  expect(await failingService.checkAtOnce()).toBe(0);
  failingService.state.status = 503;
  expect((await failingService.checkRested()).status).toBe(1);
  expect(await failingService.checkAtOnce()).toBe(1);
});
