import { writeFile } from "node:fs/promises";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";

/** Writes a node.conf with the node's own data and keys, as for two nodes on one machine. */
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
      startup_config: {
        init_config: { host_ip: "127.0.0.1", http_port: "18100", meta_path: `${directory}/data/meta` },
      },
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
