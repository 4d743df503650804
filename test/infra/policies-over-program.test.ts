import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { tokenAddress } from "#devnet/token/address.ts";
import { configSchema, secretKeys } from "#infra/config/config-schema.ts";
import { parseConfig } from "#infra/stack-config.ts";
import type { PolicyResource } from "#policies/rule.ts";
import { allRules } from "#policies/rules/all-rules.ts";
import { listDeployedResources } from "./deployed-resources.ts";

const digest = `sha256:${"a".repeat(64)}`;
const shared = { devAccounts: "true", tokenAddress };
const stacks: Readonly<Record<string, Record<string, string>>> = {
  docker: { ...shared, dockerEngine: "tcp://engine.example:2376" },
  "docker with PostgreSQL": {
    ...shared,
    dockerEngine: "tcp://engine.example:2376",
    postgresImage: `postgres:17-bookworm@${digest}`,
    postgresPassword: "hidden-password-of-the-ledgers",
  },
  "docker with its own Prometheus": {
    ...shared,
    dockerEngine: "tcp://engine.example:2376",
    observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
  },
  "kubernetes with its own Prometheus": {
    ...shared,
    target: "kubernetes",
    gatehouseImage: `registry.example/gatehouse@${digest}`,
    devnetImage: `registry.example/devnet@${digest}`,
    observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
  },
  "docker with a real node": {
    tokenAddress,
    dockerEngine: "tcp://engine.example:2376",
    nodeImage: `registry.example/node:0.16.2@${digest}`,
    nodeUser: "1000",
    nodeHealthCommand: '["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]',
    hostIp: "203.0.113.10",
    signerPrivateKey: `0x${"17".repeat(32)}`,
    payTo: `0x${"01".repeat(20)}`,
    restore: JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) }),
  },
  kubernetes: {
    ...shared,
    target: "kubernetes",
    gatehouseImage: `registry.example/gatehouse@${digest}`,
    devnetImage: `registry.example/devnet@${digest}`,
    ingress: JSON.stringify({ gatewayHost: "rpc.example", resourceServerHost: "paid.example", tlsSecret: "tls" }),
  },
  "kubernetes with a real node": {
    tokenAddress,
    target: "kubernetes",
    gatehouseImage: `registry.example/gatehouse@${digest}`,
    devnetImage: `registry.example/devnet@${digest}`,
    nodeImage: `registry.example/node:0.16.2@${digest}`,
    nodeUser: "1000",
    signerPrivateKey: `0x${"17".repeat(32)}`,
    payTo: `0x${"01".repeat(20)}`,
    databaseUrl: "postgresql://gatehouse:hidden-password@db.example/gatehouse",
    facilitatorReplicas: '{"min": 2, "max": 3}',
    peers: "node-port",
    nodeRestart: "signal",
    volumeGrowth: '{"ceilingGibibytes": 4000}',
    volumeSnapshots: '{"schedule": "0 3 * * *"}',
    restore: JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) }),
    gatewayApi: JSON.stringify({
      name: "public",
      namespace: "gateways",
      gatewayHost: "rpc.example",
      resourceServerHost: "paid.example",
    }),
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

type StackFile = Readonly<{ config: Readonly<Record<string, unknown>> }>;

function read(path: string): StackFile {
  return parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")) as StackFile;
}

function keysOf(path: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(read(path).config).map(([key, value]) => [
      key.replace(/^gatehouse:/, ""),
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
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
  it("declare every key that the program reads, except secrets", () => {
    const secrets: readonly string[] = secretKeys;
    const known = Object.keys(configSchema.shape).filter((key) => !secrets.includes(key));
    expect(Object.keys(read("Pulumi.yaml").config).toSorted()).toEqual(known.toSorted());
  });

  it("have the program's own defaults", () => {
    const declared = read("Pulumi.yaml").config as Record<string, { default: unknown }>;
    const defaults = Object.fromEntries(
      Object.entries(declared).map(([key, { default: value }]) => [
        key,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    );
    expect(parseConfig(defaults)).toEqual(parseConfig({}));
  });

  it.each([
    "infra/examples/Pulumi.devnet.yaml",
    "infra/examples/Pulumi.docker-node.yaml",
    "infra/examples/Pulumi.kubernetes.yaml",
  ])("%s is a valid configuration", (path) => {
    expect(() => parseConfig(keysOf(path))).not.toThrow();
  });

  it("specify the devnet's token in the development stack", () => {
    expect(keysOf("infra/examples/Pulumi.devnet.yaml")["tokenAddress"]).toBe(tokenAddress);
  });
});
