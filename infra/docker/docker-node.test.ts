import { beforeAll, describe, expect, it } from "vitest";
import { findContainer, listContainers, recordStack } from "../testing/deployed-stack.ts";
import { readHandedSettings } from "../testing/delivered-settings.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { isSecret } from "../testing/is-secret.ts";
import { onDocker, realNode } from "../testing/stack-configs.ts";

let recorded: readonly Recorded[] = [];
const nodeHealthCommand = '["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]';
const config = { ...onDocker, ...realNode, nodeHealthCommand, hostIp: "203.0.113.10" };

const containers = () => listContainers(recorded);
const container = (name: string) => findContainer(recorded, name);
const volume = (name: string) =>
  recorded.find((found) => found.type === "docker:index/volume:Volume" && found.name === name)?.inputs ?? {};
/** A volume's name in the engine, by its name in the program. */
const volumeNamed = (name: string) => volume(name)["name"];

/** The names of the resources that build or pull images. */
const images = (resources: readonly Recorded[]) =>
  resources.map(({ name }) => name).filter((name) => name.endsWith("-image"));

describe("a real node on Docker", () => {
  beforeAll(async () => {
    const restore = JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) });
    recorded = await recordStack({ ...config, restore }, { preview: false });
  }, 30_000);

  it("pulls the devnet image only while the stack sells the sample", async () => {
    expect(images(recorded)).toContain("devnet-image");
    const accepts = { scheme: "exact", price: "$0.01", network: "eip155:1672" };
    const routes = JSON.stringify({ "GET /report": { accepts, upstream: "http://reports.example/today" } });
    const selling = await recordStack({ ...config, routes }, { preview: false });
    expect(images(selling).toSorted()).toEqual(["gatehouse-image", "node-image", "pushgateway-image"]);
  });

  it("seeds node.conf and copies the image's binaries before the node starts", () => {
    const programs = volumeNamed("gh-node-bin");
    expect(container("node-conf")).toMatchObject({
      command: [
        "/app/infra/images/seed-node-conf.ts",
        "/run/gatehouse/incoming/node.conf",
        "/data/conf/node.conf",
        "--link",
        "/run/gatehouse/bin/node.conf",
        "--programs",
        "/run/gatehouse/image-bin",
        "--bin",
        "/data/bin",
        "--data",
        "/data/data",
        "--keys",
        "/data/keys",
      ],
      envs: ["HOST_IP=203.0.113.10"],
      volumes: [
        { volumeName: "gh-node-workspace", containerPath: "/data", readOnly: false },
        { volumeName: volumeNamed("gh-node-image-bin"), containerPath: "/run/gatehouse/image-bin", readOnly: true },
        { volumeName: programs, containerPath: "/run/gatehouse/bin", readOnly: false },
      ],
      networkMode: "none",
    });
    expect(JSON.parse((container("node-conf")["uploads"] as { content: string }[])[0]?.content ?? "")).toMatchObject({
      chain: { startup_config: { init_config: { host_ip: "203.0.113.10", tcp_port: "19000" } } },
    });
  });

  it("uses the configured health command; the deployment does not wait for the log replay", () => {
    expect(container("node")).toMatchObject({
      healthcheck: { tests: ["CMD", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"], startPeriod: "24h0m0s" },
      mustRun: true,
    });
    expect(container("node")["wait"]).toBeUndefined();
    expect(readHandedSettings(recorded)).toMatchObject({ restart: { hungAfterMs: 900_000 } });
  });

  it("copies the image's binaries into an empty volume without starting the node", () => {
    expect(container("node-prime")).toMatchObject({
      start: false,
      mustRun: false,
      volumes: [{ containerPath: "/data/bin", volumeName: volumeNamed("gh-node-image-bin") }],
    });
  });

  it("mounts chain data, node.conf, binaries and keys separately, never the whole workspace", () => {
    expect(container("node")["volumes"]).toEqual([
      { volumeName: "gh-node-workspace-data", containerPath: "/data/data", readOnly: false },
      { volumeName: "gh-node-workspace-conf", containerPath: "/data/conf", readOnly: false },
      { volumeName: volumeNamed("gh-node-bin"), containerPath: "/data/bin", readOnly: false },
      { volumeName: "gh-node-files", containerPath: "/data/keys", readOnly: true },
    ]);
    expect(volume("gh-node-workspace-data")).toMatchObject({
      driver: "local",
      driverOpts: { type: "none", o: "bind", device: "/mountpoint-of/gh-node-workspace/data" },
    });
    const mounted = (container("sidecar")["volumes"] as { containerPath: string; readOnly: boolean }[]).map(
      ({ containerPath, readOnly }) => `${containerPath}${readOnly ? " ro" : ""}`,
    );
    expect(mounted).toEqual([
      "/data/conf",
      "/data/data ro",
      "/var/lib/gatehouse",
      "/run/gatehouse/engine ro",
      "/run/gatehouse/live ro",
    ]);
    expect(container("sidecar")["envs"]).toContain("GATEHOUSE_SIDECAR_NODE_CONFIG_PATH=/data/conf/node.conf");
  });

  it("derives its version from the image tag when none is configured", async () => {
    const nodeImage = config.nodeImage.replace("0.16.2", "0.15.0");
    const other = await recordStack({ ...config, nodeImage }, { preview: false });
    const files = JSON.stringify(findContainer(other, "node-conf"));
    expect(findContainer(other, "sidecar")["envs"]).toContain("GATEHOUSE_SIDECAR_NODE_VERSION=0.15.0");
    expect(files).toContain("pamir_cetina_job_name");
    expect(files).not.toContain("storage_cetina_job_name");
  });

  it("gets a new binary volume for a new image, and keeps its data volume", async () => {
    const before = volumeNamed("gh-node-bin");
    const nodeImage = `registry.example/node:0.17.0@sha256:${"b".repeat(64)}`;
    const other = await recordStack({ ...config, nodeImage, nodeVersion: "0.17.0" }, { preview: false });
    const names = other.filter(({ type }) => type.endsWith(":Volume")).map(({ inputs }) => inputs["name"]);
    expect(names).not.toContain(before);
    expect(names).toContain("gh-node-workspace");
  });

  it("mounts its binaries at the legacy path before version 0.11", async () => {
    const settings = JSON.stringify({ sidecar: { node: { nodeDirectory: "chain" } } });
    const other = await recordStack({ ...config, nodeVersion: "0.10.3", settings }, { preview: false });
    expect(findContainer(other, "node")["volumes"]).toContainEqual({
      volumeName: expect.stringMatching(/^gh-node-bin-/),
      containerPath: "/data/chain/domain/client/bin",
      readOnly: false,
    });
    expect(findContainer(other, "engine-proxy")["envs"]).toContain(
      "GATEHOUSE_ENGINE_PROXY_BIN_DIRECTORY=/data/chain/domain/client/bin",
    );
  });

  it("receives its keys as secret files, hidden from every other container and environment", () => {
    expect(container("node-files")).toMatchObject({ user: "1000:10001", networkMode: "none" });
    const uploads = container("node-files")["uploads"] as Record<string, unknown>;
    expect(isSecret(uploads)).toBe(true);
    expect(uploads["value"]).toMatchObject([
      { file: "/run/gatehouse/incoming/domain.key" },
      { file: "/run/gatehouse/incoming/stabilizing.key" },
    ]);
    const rest = containers().map(({ inputs }) => ({ ...inputs, uploads: undefined }));
    expect(JSON.stringify(rest)).not.toMatch(/the (domain|stabilizing) key/);
  });

  it("mounts its keys from a host directory when one is configured", async () => {
    const { domainKey: _, stabilizingKey: __, ...keyless } = config;
    const other = await recordStack({ ...keyless, nodeKeysDirectory: "/srv/keys" }, { preview: false });
    expect(findContainer(other, "node")["volumes"]).toContainEqual({
      hostPath: "/srv/keys",
      containerPath: "/data/keys",
      readOnly: true,
    });
    expect(other.map(({ name }) => name)).not.toContain("gh-node-files");
  });

  it("restores chain data before preparing node.conf", () => {
    expect(container("node-restore")).toMatchObject({
      command: ["restore"],
      networksAdvanced: [{ name: "gh-edge" }],
      user: "1000:10001",
      attach: true,
      mustRun: false,
      restart: "no",
    });
    expect(container("node-restore")["envs"]).toEqual(
      expect.arrayContaining([
        "GATEHOUSE_RESTORE_ARCHIVE_URL=https://snapshots.example/chain.tar.zst",
        "GATEHOUSE_RESTORE_DATA_PATH=/data/data",
      ]),
    );
    expect(container("node-conf")["labels"]).toContainEqual({ label: "io.gatehouse.restored", value: "done" });
  });

  it("runs as the sidecar's user and group", () => {
    expect([container("node")["user"], container("sidecar")["user"]]).toEqual(["1000:10001", "1000:10001"]);
  });

  it("publishes only its peer port", () => {
    expect(container("node")["ports"]).toEqual([
      { internal: 19_000, external: 19_000, ip: "0.0.0.0", protocol: "tcp" },
    ]);
  });
});
