import { describe, expect, it, test } from "vitest";
import { createPulumiCli, formatBackend } from "./pulumi-cli.ts";
import type { PulumiRun } from "./pulumi-process.ts";

/** What Pulumi 3.259 prints. */
const printedError = `{
  "gatehouse:limits": {
    "value": "{\\"node\\":{\\"cpus\\":1}}",
    "objectValue": { "node": { "cpus": 1 } },
    "secret": false
  },
  "gatehouse:nodeImage": { "value": "node:0.16.2", "secret": false },
  "gatehouse:signerPrivateKey": { "secret": true }
}`;

test("reads a stack configuration although its secrets have no value", async () => {
  const pulumi = createPulumiCli(
    { stack: "prod", configFile: "/srv/Pulumi.prod.yaml" },
    { run: async () => printedError },
  );
  expect(await pulumi.readConfig()).toEqual({
    "gatehouse:limits": '{"node":{"cpus":1}}',
    "gatehouse:nodeImage": "node:0.16.2",
    "gatehouse:signerPrivateKey": undefined,
  });
});

test("reads a stack's containers and StatefulSets from its exported state", async () => {
  const exportedStack = JSON.stringify({
    version: 3,
    deployment: {
      resources: [
        { urn: "urn:pulumi:prod::gatehouse::pulumi:pulumi:Stack::gatehouse-prod", type: "pulumi:pulumi:Stack" },
        { urn: "urn:a", type: "docker:index/volume:Volume", id: "gatehouse-prod-node-data" },
        { urn: "urn:b", type: "docker:index/container:Container", id: "4ac1" },
        { urn: "urn:d", type: "kubernetes:apps/v1:StatefulSet", id: "pay/node" },
      ],
    },
  });
  const asked: (readonly string[])[] = [];
  const run = async ({ args }: PulumiRun) => {
    asked.push(args);
    return exportedStack;
  };
  const pulumi = createPulumiCli({ stack: "prod", configFile: "/srv/Pulumi.prod.yaml" }, { run });
  expect(await pulumi.readIds("docker:index/container:Container")).toEqual(new Map([["urn:b", "4ac1"]]));
  expect(await pulumi.readIds("kubernetes:apps/v1:StatefulSet")).toEqual(new Map([["urn:d", "pay/node"]]));
  // Secrets stay encrypted.
  expect(asked.flat()).not.toContain("--show-secrets");
});

describe("a backend URL", () => {
  it.each([
    ["file:///srv/our state?no_tmp_dir=true", "file:///srv/our state?no_tmp_dir=true"],
    ["https://user:secret@app.pulumi.com/alice?token=secret", "https://app.pulumi.com"],
    ["s3://b/state?region=x", "s3://b/state"],
    ["postgres://user:secret@host:5432/db?password=secret", "postgres://host:5432/db"],
    ["postgres://user:secret#@host/db", "postgres:…"],
    ["file://user:secret@host/srv", "file:…"],
    ["secret", "unknown:…"],
  ])("%s is stored and printed without secrets", (address, shown) => {
    expect(formatBackend(address)).toBe(shown);
  });
});
