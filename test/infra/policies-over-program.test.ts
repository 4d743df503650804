import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import { parseConfig } from "#infra/stack-config.ts";
import {
  devnet,
  digest,
  onDocker,
  onKubernetes,
  readStackFile,
  realNode,
  type RawConfig,
} from "#infra/testing/stack-configs.ts";
import type { PolicyResource } from "#policies/rule.ts";
import { allRules } from "#policies/rules/all-rules.ts";
import { root } from "../style/rooms.ts";
import { listDeployedResources } from "./deployed-resources.ts";

const watchers = { observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }) };
const restore = JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) });
const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example" };
const stacks: Readonly<Record<string, RawConfig>> = {
  docker: { ...devnet, ...onDocker },
  "docker with PostgreSQL": {
    ...devnet,
    ...onDocker,
    postgresImage: `postgres:17-bookworm@${digest}`,
    postgresPassword: "hidden-password-of-the-ledgers",
  },
  "docker with its own Prometheus": { ...devnet, ...onDocker, ...watchers },
  "kubernetes with its own Prometheus": { ...devnet, ...onKubernetes, ...watchers },
  "docker with a real node": {
    ...onDocker,
    ...realNode,
    nodeHealthCommand: '["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]',
    hostIp: "203.0.113.10",
    restore,
  },
  kubernetes: { ...devnet, ...onKubernetes, ingress: JSON.stringify({ ...hosts, tlsSecret: "tls" }) },
  "kubernetes with a real node": {
    ...onKubernetes,
    ...realNode,
    databaseUrl: "postgresql://gatehouse:hidden-password@db.example/gatehouse",
    facilitatorReplicas: '{"min": 2, "max": 3}',
    peers: "node-port",
    nodeRestart: "signal",
    volumeGrowth: '{"ceilingGibibytes": 4000}',
    volumeSnapshots: '{"schedule": "0 3 * * *"}',
    restore,
    gatewayApi: JSON.stringify({ ...hosts, name: "public", namespace: "gateways" }),
  },
};

function findings(resources: readonly PolicyResource[]): string[] {
  return allRules.flatMap((rule) =>
    rule.scope === "stack"
      ? rule.check(resources).map(({ resource, message }) => `${rule.name}: ${resource} ${message}`)
      : resources.flatMap((resource) =>
          rule.check(resource, { allowedRegistries: [] }).map((message) => `${rule.name}: ${resource.name} ${message}`),
        ),
  );
}

describe("the policy pack over this project's own program", () => {
  it.each(Object.keys(stacks))("reports nothing for the stack on %s", async (target) => {
    const resources = await listDeployedResources(stacks[target] ?? {});
    expect(resources.length).toBeGreaterThan(15);
    expect(findings(resources)).toEqual([]);
  });
});

describe("the stack files", () => {
  it.each([
    "infra/examples/Pulumi.devnet.yaml",
    "infra/examples/Pulumi.docker-node.yaml",
    "infra/examples/Pulumi.kubernetes.yaml",
  ])("%s is a valid configuration", (path) => {
    expect(() => parseConfig(readStackFile(join(root, path)))).not.toThrow();
  });

  it("use the devnet's token in the development stack", () => {
    expect(readStackFile(join(root, "infra/examples/Pulumi.devnet.yaml"))["tokenAddress"]).toBe(tokenAddress);
  });
});
