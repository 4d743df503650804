import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { respondToRpc, goodResponses, risingHeight, serveNode } from "#sidecar/testing/watched-node.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { readCondition, readStatus, waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { startOwnedNode } from "../support/node/owned-node.ts";
import { startRisingNode } from "../support/node/rising-node.ts";
import { isLong } from "../support/run-size.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** Longer than the request timeout, and than the time for which a node may be unresponsive before it is restarted. */
const stoppedMs = isLong ? 4_000 : 1_600;
const nodeTimeoutMs = isLong ? 500 : 250;
/** Number of stalls. */
const rounds = isLong ? 3 : 1;

/** Time without a new head after which the gateway counts as the cause. */
const blamedAfterMs = 3_000;

test("reports itself as slow after a stall, and neither blames nor restarts the node", async () => {
  await using node = await startOwnedNode("slow-gateway");
  await using rpc = await startRisingNode();
  await using service = await startService(
    "sidecar",
    buildEnvironment(node, {
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: rpc.httpUrl,
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: rpc.webSocketUrl,
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
      GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: String(nodeTimeoutMs),
      GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: String(stoppedMs / 2),
      GATEHOUSE_SIDECAR_RESTART_HUNG_AFTER_MS: String(stoppedMs / 4),
      GATEHOUSE_SIDECAR_LAG_RESTART: "true",
      GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "100",
    }),
  );
  const { sidecar = "" } = service.urls;
  await waitUntilSettled(sidecar);
  const read = async (path: string) => {
    const response = await fetch(`${sidecar}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const status = () => readStatus(sidecar);
  const responsive = () => readCondition(sidecar, "GatewayResponsive");
  await until("it is ready", generousMs, async () => (await read("/readyz")).status === 200);
  const eventsBefore = (await status()).events.length;
  const starts = await node.starts();
  for (let round = 0; round < rounds; round += 1) {
    process.kill(service.pid, "SIGSTOP");
    await sleep(stoppedMs);
    process.kill(service.pid, "SIGCONT");
    await until(
      "it reports that it was slow",
      generousMs,
      async () => (await responsive())?.reason === "EventLoopDelayed",
    );
    await sleep(700);
  }
  const { conditions, events } = await status();
  const words = conditions.find(({ type }) => type === "GatewayResponsive")?.message;
  expect(words).toMatch(/^The gateway itself is slow: its event loop was delayed by up to [1-4]\d{3} ms, /);
  const ready = await read("/readyz");
  expect([ready.status, ready.text]).toEqual([200, expect.stringContaining("The gateway itself is slow")]);
  const messages = events.slice(0, events.length - eventsBefore).map(({ message }) => message);
  expect(messages.filter((line) => !line.startsWith("GatewayResponsive"))).toEqual([]);
  expect(await node.starts()).toBe(starts);
  const late = /^gatehouse_event_loop_delay_seconds_total (\S+)/m.exec((await read("/metrics")).text)?.[1];
  expect(Number(late)).toBeGreaterThan((rounds * stoppedMs) / 1_000 - (rounds + 1) / 2);
  // This takes ten seconds; short runs leave it to the test of `watchEventLoop`.
  if (isLong)
    await until("it is responsive again", generousMs, async () => (await responsive())?.reason === "Responsive");
});

test("waits for a head that went stale during its own stall, and does not report GatewayServing as False", async () => {
  await using node = await startOwnedNode("slow-gateway-head");
  await using rpc = await startRisingNode();
  await using service = await startService(
    "sidecar",
    buildEnvironment(node, {
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: rpc.httpUrl,
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: rpc.webSocketUrl,
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
    }),
    { constants: { "gateway.head.staleAfterMs": 1_000, "gateway.head.pollIntervalMs": 100 } },
  );
  const { sidecar = "" } = service.urls;
  await waitUntilSettled(sidecar);
  const status = () => readStatus(sidecar);
  await until("it is ready", generousMs, async () => (await fetch(`${sidecar}/readyz`)).status === 200);
  process.kill(service.pid, "SIGSTOP");
  await sleep(blamedAfterMs + 300);
  process.kill(service.pid, "SIGCONT");
  const said = async () => (await status()).events.map(({ message }) => message);
  await until("it has checked", generousMs, async () =>
    (await said()).some((line) => line.startsWith("GatewayResponsive is False")),
  );
  await until("it is ready again", generousMs, async () => (await fetch(`${sidecar}/readyz`)).status === 200);
  expect((await said()).filter((line) => line.startsWith("GatewayServing is False"))).toEqual([]);
});

test("reports WaitingForHead, not NoHead, when a node responds again after an outage", async () => {
  await using node = await startOwnedNode("slow-gateway-return");
  let isAway = true;
  // The node responds to health checks but has no new block, so the gateway learns no head.
  const answer = respondToRpc({ ...goodResponses, eth_blockNumber: risingHeight });
  await using rpc = await serveNode((request, response) =>
    isAway ? void response.destroy() : void answer(request, response),
  );
  await using service = await runSidecar(node, {
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: rpc.url,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: rpc.url.replace("http", "ws"),
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
    GATEHOUSE_SIDECAR_GATEWAY_HEAD_POLL_INTERVAL_MS: "100",
  });
  const { sidecar } = service.urls;
  const serving = async () => (await readCondition(sidecar, "GatewayServing"))?.reason;
  await until("its node is unfit", generousMs, async () => (await serving()) === "NodeUnhealthy");
  await sleep(blamedAfterMs);
  isAway = false;
  const changed = await until("the reason has changed", generousMs, async () => {
    const reason = await serving();
    return reason !== "NodeUnhealthy" && reason;
  });
  expect(changed).toBe("WaitingForHead");
  await until("it is reported as slow in the end", generousMs, async () => (await serving()) === "NoHead");
});
