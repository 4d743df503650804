import { expect, test } from "vitest";
import { createPulumiCli } from "./pulumi-cli.ts";

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
