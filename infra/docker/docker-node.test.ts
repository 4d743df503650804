import { beforeAll, describe, expect, it } from "vitest";
import { findContainer, recordStack } from "../testing/deployed-stack.ts";
import { readHotRestartSettings } from "../testing/delivered-settings.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { onDocker, realNode } from "../testing/stack-configs.ts";

let recorded: readonly Recorded[] = [];
const nodeHealthCommand = '["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]';
const config = { ...onDocker, ...realNode, nodeHealthCommand, hostIp: "203.0.113.10" };

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
  });

  it("pulls the devnet image only while the stack sells the sample", async () => {
    expect(images(recorded)).toContain("devnet-image");
    const accepts = { scheme: "exact", price: "$0.01", network: "eip155:1672" };
    const routes = JSON.stringify({ "GET /report": { accepts, upstream: "http://reports.example/today" } });
    const selling = await recordStack({ ...config, routes }, { preview: false });
    expect(images(selling).toSorted()).toEqual(["gatehouse-image", "node-image", "pushgateway-image"]);
  });

  it("uses the configured health command; the deployment does not wait for the log replay", () => {
    expect(container("node")).toMatchObject({
      healthcheck: { tests: ["CMD", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"], startPeriod: "24h0m0s" },
      mustRun: true,
    });
    expect(container("node")["wait"]).toBeUndefined();
    expect(readHotRestartSettings(recorded)).toMatchObject({ restart: { hungAfterMs: 900_000 } });
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
});
