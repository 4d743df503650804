import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createFilesInForce } from "#daemon/files/files-in-force.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import { sidecar } from "../main.ts";
import { sidecarSettings } from "../settings.ts";

/** A sidecar that runs in the test's own process. Disposing of it stops it and deletes its state. */
export type RunningSidecar = AsyncDisposable & Readonly<{ urls: Readonly<Record<string, string>> }>;

/** Runs a sidecar, on free ports and without WebSocket checks, for a node that it can't restart; `environment` overrides these settings. */
export async function runSidecar(
  workspace: string,
  environment: Readonly<Record<string, string>>,
): Promise<RunningSidecar> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "gatehouse-sidecar-"));
  const settings = readWithConstants(sidecarSettings, {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    ...environment,
  });
  const resources = new AsyncDisposableStack();
  const stopping = new AbortController();
  const stop = async () => {
    stopping.abort();
    await resources.disposeAsync();
    await rm(stateDirectory, { recursive: true });
  };
  try {
    const metrics = new Registry();
    const context = {
      log: pino({ level: "silent" }),
      metrics,
      files: createFilesInForce(metrics),
      configuration: () => ({ service: "sidecar", version: "0.0.0", settingsSha256: "", files: [] }),
      mask: createMask(),
      resources,
      signal: stopping.signal,
      userStateDirectory: stateDirectory,
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
