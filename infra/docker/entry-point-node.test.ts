import { beforeAll, describe, expect, it } from "vitest";
import { findContainer, recordStack } from "../testing/deployed-stack.ts";
import { readHotRestartSettings } from "../testing/delivered-settings.ts";
import { isSecret } from "../testing/is-secret.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { digest, onDocker, realNode } from "../testing/stack-configs.ts";

const { nodeUser: _user, ...withoutUser } = realNode;
const password = "the password of the keys";
const config = {
  ...onDocker,
  ...withoutUser,
  hostIp: "203.0.113.10",
  nodeImage: `registry.example/node:community_v0.12.2_f301031a_0422@${digest}`,
  nodeKeysPassword: password,
  nodeGenesis: '{"domains": {}}',
  nodeForks: '{"fork": 1}',
  nodeEnvironment: '{"NODE_LOG": "debug"}',
  nodeFiles: '{"extra/file.json": "the extra file"}',
};

let recorded: readonly Recorded[] = [];
const container = (name: string) => findContainer(recorded, name);
/** A plain value, or one that Pulumi marked as a secret. */
const reveal = (value: unknown): unknown => (isMarked(value) ? value["value"] : value);
const isMarked = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && isSecret(value as Record<string, unknown>);

describe("a node whose image copies its binaries at every start", () => {
  beforeAll(async () => {
    recorded = await recordStack(config, { preview: false });
  });

  it("mounts one workspace volume and no binary volume, with full hardening", () => {
    expect(container("node")).toMatchObject({
      volumes: [
        { volumeName: "gh-node-workspace", containerPath: "/data", readOnly: false },
        { volumeName: "gh-node-files", containerPath: "/data/keys", readOnly: true },
      ],
      user: "1000:10001",
      readOnly: true,
      tmpfs: { "/tmp": expect.any(String) },
      capabilities: { drops: ["ALL"] },
      securityOpts: ["no-new-privileges:true"],
      stopTimeout: 300,
      ulimits: [{ name: "nofile", soft: 10_000_000, hard: 10_000_000 }],
      mustRun: true,
    });
    expect(recorded.map(({ name }) => name)).not.toContain("gh-node-prime");
  });

  it("receives its entry point's paths and password, with the password as a secret", () => {
    const variables = (reveal(container("node")["envs"]) as unknown[]).map(reveal);
    expect(variables).toEqual(
      expect.arrayContaining([
        "PHAROS_CONF=/data/pharos.conf",
        "GENESIS_CONF=/data/genesis.conf",
        "KEYS_DIR=/data/keys",
        `CONSENSUS_KEY_PWD=${password}`,
        `PORTAL_SSL_PWD=${password}`,
        "NODE_LOG=debug",
      ]),
    );
    const plain = recorded.map(({ inputs }) =>
      JSON.stringify(inputs, (_, value: unknown) => (isMarked(value) ? "[secret]" : value)),
    );
    for (const text of [password, "NODE_LOG=debug", "the extra file", "the domain key"]) {
      expect(plain.join("\n")).not.toContain(text);
    }
  });

  it("starts after its configuration, files and keys are prepared, and again when they change", async () => {
    const command = container("node-conf")["command"] as string[];
    expect(command.slice(1)).toEqual([
      "/run/gatehouse/incoming/node.conf",
      "/data/pharos.conf",
      "--place",
      "/run/gatehouse/incoming/placed-0=/data/genesis.conf",
      "--place",
      "/run/gatehouse/incoming/placed-1=/data/bin/VERSION",
      "--place",
      "/run/gatehouse/incoming/placed-2=/data/extra/file.json",
      "--require",
      "/data/keys/domain.key",
      "--require",
      "/data/keys/stabilizing.key",
      "--genesis-mark",
      "/data/data/meta_store",
      "--bin",
      "/data/bin",
      "--data",
      "/data/data",
      "--keys",
      "/data/keys",
    ]);
    expect(container("node-conf")["volumes"]).toContainEqual({
      volumeName: "gh-node-files",
      containerPath: "/data/keys",
      readOnly: true,
    });
    expect(container("node")["labels"]).toContainEqual({ label: "io.gatehouse.prepared", value: "gh-node-conf-id" });
    const uploads = reveal(container("node-conf")["uploads"]) as Readonly<Record<string, string>>[];
    expect(JSON.parse(uploads[0]?.["content"] ?? "")).toMatchObject({
      chain: { startup_config: { init_config: { meta_path: "/data/data" } } },
      storage: { mygrid_env: { storage_data_path: "/data/data" } },
    });
    expect(uploads.slice(1).map(({ content }) => reveal(content))).toEqual([
      '{"domains": {}}',
      '{"fork": 1}',
      "the extra file",
    ]);
  });

  it("mounts host keys in the node and in the container that checks them", async () => {
    const { domainKey: _, stabilizingKey: __, ...keyless } = config;
    const other = await recordStack({ ...keyless, nodeKeysDirectory: "/srv/keys" }, { preview: false });
    const mount = { hostPath: "/srv/keys", containerPath: "/data/keys", readOnly: true };
    for (const name of ["node", "node-conf"]) expect(findContainer(other, name)["volumes"]).toContainEqual(mount);
  });

  it("configures the sidecar and the engine proxy for the node family", () => {
    expect(container("sidecar")["envs"]).toEqual(
      expect.arrayContaining([
        "GATEHOUSE_SIDECAR_NODE_FAMILY=pharos",
        "GATEHOUSE_SIDECAR_NODE_CONFIG_PATH=/data/pharos.conf",
        "GATEHOUSE_SIDECAR_NODE_VERSION=0.12.2",
      ]),
    );
    expect(readHotRestartSettings(recorded)).toMatchObject({
      nodeCli: { containerBinDirectory: "/data/bin", configArgument: "/data/pharos.conf" },
    });
    expect(container("sidecar")["volumes"]).toContainEqual({
      volumeName: "gh-node-workspace",
      containerPath: "/data",
      readOnly: false,
    });
    expect(container("engine-proxy")["envs"]).toEqual(
      expect.arrayContaining([
        "GATEHOUSE_ENGINE_PROXY_NODE_CLI=pharos_cli",
        "GATEHOUSE_ENGINE_PROXY_CONFIG_ARGUMENT=/data/pharos.conf",
        "GATEHOUSE_ENGINE_PROXY_BIN_DIRECTORY=/data/bin",
      ]),
    );
  });

  it("lets the deployment finish when services are live but not yet ready", () => {
    for (const name of ["sidecar", "facilitator", "resource-server"]) {
      const { healthcheck, wait } = container(name) as { healthcheck: { tests: string[] }; wait: boolean };
      expect([wait, healthcheck.tests.at(-1)]).toEqual([true, expect.stringMatching(/\/livez$/)]);
    }
  });
});
