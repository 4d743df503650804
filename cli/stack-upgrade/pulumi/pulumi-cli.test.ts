import { expect, test } from "vitest";
import { createPulumiCli } from "./pulumi-cli.ts";
import type { PulumiRun } from "./pulumi-process.ts";

/** As Pulumi 3.259 prints it. */
const printed = `{
  "gatehouse:limits": {
    "value": "{\\"node\\":{\\"cpus\\":1}}",
    "objectValue": { "node": { "cpus": 1 } },
    "secret": false
  },
  "gatehouse:nodeImage": { "value": "node:0.16.2", "secret": false },
  "gatehouse:signerPrivateKey": { "secret": true }
}`;

test("a stack's configuration is read though its secrets have no value", async () => {
  const pulumi = createPulumiCli({ stack: "prod", configFile: "/srv/Pulumi.prod.yaml" }, { run: async () => printed });
  expect(await pulumi.readConfig()).toEqual({
    "gatehouse:limits": '{"node":{"cpus":1}}',
    "gatehouse:nodeImage": "node:0.16.2",
    "gatehouse:signerPrivateKey": undefined,
  });
});

test("a stack's containers and its pending creations are those of its exported state", async () => {
  const exported = JSON.stringify({
    version: 3,
    deployment: {
      resources: [
        { urn: "urn:pulumi:prod::gatehouse::pulumi:pulumi:Stack::gatehouse-prod", type: "pulumi:pulumi:Stack" },
        { urn: "urn:a", type: "docker:index/volume:Volume", id: "gatehouse-prod-node-data" },
        { urn: "urn:b", type: "docker:index/container:Container", id: "4ac1" },
        { urn: "urn:d", type: "kubernetes:apps/v1:StatefulSet", id: "pay/node" },
      ],
      pending_operations: [
        { resource: { urn: "urn:b", custom: true, type: "docker:index/container:Container" }, type: "creating" },
        { resource: { urn: "urn:c", custom: true, type: "docker:index/container:Container" }, type: "deleting" },
      ],
    },
  });
  const asked: (readonly string[])[] = [];
  const run = async ({ args }: PulumiRun) => {
    asked.push(args);
    return exported;
  };
  const pulumi = createPulumiCli({ stack: "prod", configFile: "/srv/Pulumi.prod.yaml" }, { run });
  expect(await pulumi.readState()).toEqual({
    containers: new Map([["urn:b", "4ac1"]]),
    statefulSets: new Map([["urn:d", "pay/node"]]),
    pendingCreations: ["urn:b"],
  });
  // Secrets stay encrypted.
  expect(asked.flat()).not.toContain("--show-secrets");
});
