import { writeFile } from "node:fs/promises";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { until } from "#daemon/testing/until.ts";

/** Writes a node.conf with the node's own data and keys, as two nodes on one machine have. */
export function writeOwnedConfig(directory: string, jobName: string): string {
  return JSON.stringify({
    chain: {
      monitor_config: {
        storage_enable_cetina: true,
        storage_cetina_job_name: jobName,
        storage_cetina_push_address: "127.0.0.1",
        storage_cetina_push_interval: 5,
        storage_cetina_push_port: 9091,
      },
      secret_config: {
        domain_key_path: `${directory}/keys/domain.key`,
        stabilizing_key_path: `${directory}/keys/stabilizing.key`,
      },
      startup_config: { init_config: { http_port: "18100", meta_path: `${directory}/data/meta` } },
    },
    storage: { mygrid_env: { storage_data_path: `${directory}/data` } },
  });
}

export async function startOwnedNode(jobName: string): Promise<FakeNode> {
  const node = await createFakeNode();
  await writeFile(node.configPath, writeOwnedConfig(node.workspace, jobName));
  await node.start();
  return node;
}

export function buildEnvironment(
  node: FakeNode,
  more: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "5000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "5000",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    ...more,
  };
}

type Status = Readonly<{ conditions: readonly Readonly<{ type: string; reason: string; message: string }>[] }>;

export async function waitForReason(url: string | undefined, type: string, reason: string) {
  return until(`${type} is ${reason}`, 30_000, async () => {
    const { conditions } = (await (await fetch(`${url}/status`)).json()) as Status;
    return conditions.find((condition) => condition.type === type && condition.reason === reason);
  });
}

export async function waitUntilSettled(url: string | undefined): Promise<void> {
  await waitForReason(url, "ConfigReconciled", "Reconciled");
  await waitForReason(url, "NoRestartPending", "NoRestart");
  await waitForReason(url, "Pruning", "Enabled");
}
