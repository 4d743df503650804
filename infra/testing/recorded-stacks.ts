import { join } from "node:path";

const digest = `sha256:${"a".repeat(64)}`;
const devnet = { devAccounts: "true", tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2" };
const realNode = {
  nodeImage: `registry.example/node:0.16.2@${digest}`,
  nodeUser: "1000",
  signerPrivateKey: `0x${"17".repeat(32)}`,
  domainKey: "the domain key",
  stabilizingKey: "the stabilizing key",
  payTo: `0x${"01".repeat(20)}`,
  tokenAddress: `0x${"02".repeat(20)}`,
};
const docker = { dockerEngine: "tcp://engine.example:2376" };
const kubernetes = {
  target: "kubernetes",
  gatehouseImage: `registry.example/gatehouse@${digest}`,
  devnetImage: `registry.example/devnet@${digest}`,
};

/** Configurations of the stacks whose registrations are recorded. Together they cover every service and every kind of volume. */
export const recordedStacks: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docker-devnet": { ...docker, ...devnet },
  "docker-node": {
    ...docker,
    ...realNode,
    hostIp: "203.0.113.10",
    nodeHealthCommand: '["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]',
    postgresImage: `postgres:17-bookworm@${digest}`,
    postgresPassword: "hidden-password-of-the-ledgers",
    restore: JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) }),
  },
  "kubernetes-devnet": { ...kubernetes, ...devnet },
  "kubernetes-node": {
    ...kubernetes,
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
