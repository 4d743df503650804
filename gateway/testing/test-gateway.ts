import { Registry } from "prom-client";
import { generousMs, until } from "#daemon/testing/until.ts";
import { parseSettings } from "#daemon/testing/parse-settings.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { createLog } from "#daemon/log/log.ts";
import { pause, type Pause } from "#daemon/time.ts";
import { startGateway, type Gateway } from "../gateway.ts";
import type { NodeFitness } from "../chain/chain-head.ts";
import { createSettingNames } from "../settings/names.ts";
import { gatewaySection, type GatewaySettings } from "../settings/sections.ts";
import { limitProcessConnections } from "#daemon/http/connections/connection-budget.ts";

/** A gateway under test, with its metrics. */
export type TestGateway = Gateway &
  Readonly<{
    url: string;
    metrics: Registry;
    shows: (text: string) => Promise<unknown>;
  }>;

export function testSettings(given: Record<string, object | string> = {}): GatewaySettings {
  const free = { port: 0 };
  return parseSettings(gatewaySection, {
    ...given,
    public: { ...free, ...(given["public"] as object) },
    private: { ...free, ...(given["private"] as object) },
    internal: { ...free, ...(given["internal"] as object) },
  });
}

/**
 * How long a stopping gateway waits for its clients to close their connections: short, because every test stops one. Tests of the drain use
 * another pause.
 */
const shortPause: Pause = (_ms, signal) => pause(10, signal);

/**
 * Starts a gateway in front of a node, on free ports, and waits until it knows the head. `wait` determines how the gateway waits for
 * clients when it stops: use the system timer if the test is about that.
 */
export async function startTestGateway(
  node: Readonly<{
    httpUrl: string;
    webSocketUrl: string;
    batchCallsMax?: number;
    fitness?: () => NodeFitness;
    linkOpened?: () => void;
  }>,
  given: Record<string, object | string> = {},
  log = createLog({ service: "test", level: "silent" }),
  wait = shortPause,
): Promise<TestGateway> {
  const metrics = new Registry();
  const settings = testSettings(given);
  const connections = limitProcessConnections(settings.listener, { metrics });
  const gateway = await startGateway(settings, {
    log,
    metrics,
    files: createActiveFiles(metrics),
    connections,
    // On a busy machine, a test's event loop is delayed, which most tests must ignore.
    eventLoop: { recentMs: () => 0 },
    node: {
      linkOpened: () => undefined,
      ...node,
      fitness: {
        get current() {
          return node.fitness?.() ?? "fit";
        },
      },
    },
    settingNames: createSettingNames("sidecar", "gateway"),
    pause: wait,
  });
  await until("the gateway knows the head", generousMs, () => gateway.readiness().ok);
  const shows = (text: string) =>
    until(`the metrics show ${text}`, generousMs, async () => (await metrics.metrics()).includes(text));
  return { ...gateway, url: gateway.urls["public"] ?? gateway.urls["private"] ?? "", metrics, shows };
}

export async function post(url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json", ...headers },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Calls a method with id 1 and returns the response. */
export async function call(url: string, method: string, params: readonly unknown[] = []) {
  const { text } = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  return JSON.parse(text) as { id: unknown; result?: unknown; error?: { code: number; message: string } };
}
