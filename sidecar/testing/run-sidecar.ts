import { pino } from "pino";
import { Registry } from "prom-client";
import type { Environment } from "#daemon/settings/environment.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import { sidecar } from "../main.ts";
import { sidecarSettings } from "../settings.ts";
import type { FakeNode } from "./fake-node.ts";
import { buildEnvironment } from "./sidecar-environment.ts";

/** A sidecar that runs in the test's own process. Disposing of it stops it. */
export type RunningSidecar = AsyncDisposable & Readonly<{ urls: Readonly<Record<string, string>> }>;

/** Event loop delays from which a sidecar reports itself as slow. */
export const loopDelays = (ms: number, share: number): Readonly<Record<string, string>> => ({
  GATEHOUSE_SIDECAR_HEALTH_LOOP_DELAY_MS: String(ms),
  GATEHOUSE_SIDECAR_HEALTH_LOOP_DELAY_SHARE: String(share),
});

/**
 * Runs a sidecar for a node that it can't restart, with its state in the node's workspace; `environment` overrides these settings. It does
 * not report delays of its event loop, which it shares with the test.
 */
export async function runSidecar(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  environment: Environment = {},
): Promise<RunningSidecar> {
  const settings = readWithConstants(
    sidecarSettings,
    buildEnvironment(node, { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none", ...loopDelays(1e9, 1e9), ...environment }),
  );
  const resources = new AsyncDisposableStack();
  const stopController = new AbortController();
  const stop = async () => {
    stopController.abort();
    await resources.disposeAsync();
  };
  try {
    const metrics = new Registry();
    const context = {
      log: pino({ level: "silent" }),
      metrics,
      files: createActiveFiles(metrics),
      configuration: () => ({ service: "sidecar", version: "0.0.0", settingsSha256: "", files: [] }),
      mask: createMask(),
      resources,
      signal: stopController.signal,
      userStateDirectory: node.workspace,
      finishes: () => undefined,
      yields: () => undefined,
      isHandedOver: false,
      leaves: () => undefined,
    };
    const { urls } = await sidecar.start(settings, context);
    return { urls, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
