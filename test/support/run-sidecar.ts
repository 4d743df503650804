import type { Environment } from "#daemon/settings/environment.ts";
import { sidecar } from "#sidecar/main.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { startInProcess, type ServiceInProcess } from "./service-in-process.ts";

/** Event loop delays from which a sidecar reports itself as slow. */
export const loopDelays = (ms: number, share: number): Readonly<Record<string, string>> => ({
  GATEHOUSE_SIDECAR_HEALTH_LOOP_DELAY_MS: String(ms),
  GATEHOUSE_SIDECAR_HEALTH_LOOP_DELAY_SHARE: String(share),
});

/**
 * Runs a sidecar for a node that it can't restart, with its state in the node's workspace; `environment` overrides these settings. It does
 * not report delays of its event loop, which it shares with the test.
 */
export function runSidecar(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  environment: Environment = {},
): Promise<ServiceInProcess> {
  const own = { GATEHOUSE_SIDECAR_RESTART_DRIVER: "none", ...loopDelays(1e9, 1e9) };
  return startInProcess(sidecar, buildEnvironment(node, { ...own, ...environment }));
}
