import { join } from "node:path";
import { devnet, digest, onDocker, onKubernetes, realNode, type RawConfig } from "./stack-configs.ts";

/** Configurations of the stacks whose registrations are recorded. Together they cover every service and every kind of volume. */
export const recordedStacks: Readonly<Record<string, RawConfig>> = {
  "docker-devnet": { ...onDocker, ...devnet },
  "docker-node": {
    ...onDocker,
    ...realNode,
    hostIp: "203.0.113.10",
    nodeHealthCommand: '["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]',
    postgresImage: `postgres:17-bookworm@${digest}`,
    postgresPassword: "hidden-password-of-the-ledgers",
    restore: JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) }),
  },
  "kubernetes-devnet": { ...onKubernetes, ...devnet },
  "kubernetes-node": {
    ...onKubernetes,
    ...realNode,
    peers: "node-port",
    nodeVolumeGibibytes: "750",
    volumeSnapshots: JSON.stringify({ schedule: "0 3 * * *", keep: 3, className: "csi" }),
    volumeGrowth: JSON.stringify({ ceilingGibibytes: 4_000, stepGibibytes: 250 }),
    restore: JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) }),
  },
};

/** Returns the path of the file that records a stack's registrations as of the last version. */
export function locateRecording(stack: string): string {
  return join(import.meta.dirname, "recorded", `${stack}.json`);
}
