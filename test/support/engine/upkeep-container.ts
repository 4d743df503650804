import { until } from "#daemon/testing/until.ts";
import { startServiceContainer } from "./service-container.ts";
import type { TestContainer } from "./container.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";

export type SidecarStatus = Readonly<{
  conditions: readonly Readonly<{ type: string; status: string; reason: string; message: string }>[];
  events: readonly Readonly<{ message: string }>[];
  node: Readonly<{ height?: string | number }>;
}>;

export type UpkeepContainer = AsyncDisposable &
  Readonly<{
    container: TestContainer;
    status: () => Promise<SidecarStatus>;
    reason: (type: string, reason: string) => Promise<string>;
  }>;

const deadlineMs = 60_000;

export async function startUpkeepContainer(
  image: string,
  env: Readonly<Record<string, string>>,
  options: readonly string[],
): Promise<UpkeepContainer> {
  const [statusPort = 0, gatewayPort = 0] = await findFreePorts(2);
  const container = await startServiceContainer({
    image,
    service: "sidecar",
    options,
    env: {
      GATEHOUSE_SIDECAR_LISTEN_PORT: String(statusPort),
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: String(gatewayPort),
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: "/state",
      GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
      GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "500",
      GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
      GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "60000",
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "60000",
      ...env,
    },
  });
  const status = async () => {
    const response = await fetch(`http://127.0.0.1:${statusPort}/status`, { signal: AbortSignal.timeout(2_000) });
    return (await response.json()) as SidecarStatus;
  };
  const reason = async (type: string, wanted: string) => {
    let last: SidecarStatus | undefined;
    const look = async () => {
      last = await status();
      return last.conditions.find((condition) => condition.type === type && condition.reason === wanted);
    };
    return until(`${type} ${wanted}`, deadlineMs, look).then(
      ({ message }) => message,
      async (cause) => {
        throw new Error(`${JSON.stringify(last, null, 1)}\n${await container.logs()}`, { cause });
      },
    );
  };
  return { container, status, reason, [Symbol.asyncDispose]: container[Symbol.asyncDispose] };
}
