import { describe, expect, it } from "vitest";
import { buildConfigChange, chooseTargetSide, readDeployedStack } from "./deployed-stack.ts";

const outputs = {
  urls: {
    public: { gateway: "http://127.0.0.1:8545" },
    operations: { status: "http://127.0.0.1:9600/status" },
  },
};
const config = {
  "gatehouse:target": "docker",
  "gatehouse:nodeImage": "registry.example/node:0.16.2",
  "gatehouse:signerPrivateKey": undefined,
};
const read = (more: Readonly<Record<string, string>> = {}, reportedOutputs: unknown = outputs) =>
  readDeployedStack("acme/gatehouse/prod", {
    config: { ...config, ...more },
    outputs: reportedOutputs,
    statusUrl: undefined,
  });

describe("the location of a stack", () => {
  it("is read from its configuration and outputs", () => {
    expect(read()).toEqual({
      stack: "acme/gatehouse/prod",
      project: "gatehouse",
      prefix: "gatehouse-prod",
      target: {
        kind: "docker",
        engine: "unix:///var/run/docker.sock",
        statusUrl: "http://127.0.0.1:9600",
        rpcUrl: "http://127.0.0.1:8545",
      },
      from: { image: "registry.example/node:0.16.2", version: "0.16.2" },
    });
  });

  it("is read for a cluster as well, if the sidecar is only reachable from the pod", () => {
    const more = {
      "gatehouse:target": "kubernetes",
      "gatehouse:namespace": "pay",
      "gatehouse:volumeSnapshots": '{"schedule":"@daily","className":"fast"}',
    };
    const reportedOutputs = { urls: { public: {}, operations: { status: "http://sidecar-status:9600/status" } } };
    expect(read(more, reportedOutputs).target).toEqual({ kind: "kubernetes", namespace: "pay", snapshotClass: "fast" });
    const named = { ...more, "gatehouse:kubernetesContext": "production" };
    expect(read(named, reportedOutputs).target).toMatchObject({ context: "production" });
    const asked = { config: { ...config, ...more }, outputs: reportedOutputs, statusUrl: "http://127.0.0.1:9600" };
    expect(() => readDeployedStack("prod", asked)).toThrow("--url is for stacks on Docker");
  });

  it.each([
    [
      "a stack whose YAML is applied by others",
      { "gatehouse:target": "kubernetes", "gatehouse:renderTo": "out" },
      outputs,
      "is rendered to YAML",
    ],
    ["a Kubernetes stack that was never deployed", { "gatehouse:target": "kubernetes" }, {}, "run pulumi up with"],
    ["the devnet node", { "gatehouse:nodeImage": "" }, outputs, "no readable nodeImage"],
    [
      "an image that reports no version",
      { "gatehouse:nodeImage": "registry.example/node:latest" },
      outputs,
      "set nodeVersion",
    ],
    ["a stack that was never deployed", {}, {}, "run pulumi up with this release first"],
  ])("is rejected for %s, with instructions", (_, more, reportedOutputs, words) => {
    expect(() => read(more, reportedOutputs)).toThrow(words);
  });
});

describe("the new version in the configuration", () => {
  const taggedImage = "registry.example/node:0.17.0";

  it.each([
    [
      "from the tag, if the stack relies on the tag",
      {},
      { image: taggedImage, version: undefined },
      { image: taggedImage, version: "0.17.0" },
    ],
    [
      "from nodeVersion too, if the stack sets it",
      { "gatehouse:nodeVersion": "0.16.2" },
      { image: taggedImage, version: undefined },
      { image: taggedImage, version: "0.17.0", nodeVersion: "0.17.0" },
    ],
    [
      "from nodeVersion, if the user specifies it",
      {},
      { image: "registry.example/node@sha256:00", version: "0.17.0" },
      { image: "registry.example/node@sha256:00", version: "0.17.0", nodeVersion: "0.17.0" },
    ],
  ])("is derived %s", (_, more, asked, side) => {
    expect(chooseTargetSide(read(more), asked)).toEqual(side);
  });

  it("is required if no source reports it", () => {
    const requestedVersion = { image: "registry.example/node:next", version: undefined };
    expect(() => chooseTargetSide(read(), requestedVersion)).toThrow("contains no version; specify it: --node-version");
  });

  it("is rolled back to a configuration without nodeVersion", () => {
    const from = { image: "a:0.16.2", version: "0.16.2" };
    const to = { image: "b@sha256:00", version: "0.17.0", nodeVersion: "0.17.0" };
    expect(buildConfigChange("gatehouse", to, from)).toEqual({
      "gatehouse:nodeImage": "b@sha256:00",
      "gatehouse:nodeVersion": "0.17.0",
    });
    expect(buildConfigChange("gatehouse", from, to)).toEqual({
      "gatehouse:nodeImage": "a:0.16.2",
      "gatehouse:nodeVersion": undefined,
    });
  });
});
