import { join } from "node:path";
import type { Condition, ConditionType } from "#status/condition.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { until } from "#daemon/testing/until.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";

type Status = Readonly<{
  conditions: readonly Condition[];
  events: readonly Readonly<{ at: string; message: string }>[];
}>;

export type SidecarUnderTest = AsyncDisposable &
  Readonly<{
    pid: number;
    url: string;
    status: () => Promise<Status>;
    metric: (name: string) => Promise<number>;
    reason: (type: ConditionType, reason: string, withinMs: number) => Promise<Condition>;
  }>;

/** Starts `gatehouse sidecar` for a node, acting at once, with default settings except for ports, paths and `env`. */
export async function startSidecar(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  env: Readonly<Record<string, string>>,
): Promise<SidecarUnderTest> {
  const service: ServiceProcess = await startService("sidecar", {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "state"),
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    ...env,
  });
  const status = async () => (await (await fetch(`${service.urls["sidecar"]}/status`)).json()) as Status;
  return {
    pid: service.pid,
    url: service.urls["sidecar"] ?? "",
    status,
    metric: async (name) => {
      const text = await (await fetch(`${service.urls["sidecar"]}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1] ?? 0);
    },
    reason: (type, reason, withinMs) =>
      until(`${type} is ${reason}`, withinMs, async () =>
        (await status()).conditions.find((condition) => condition.type === type && condition.reason === reason),
      ),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
