import { hash } from "node:crypto";
import { runtime } from "@pulumi/pulumi";
import { expect, it } from "vitest";
import { readSettings } from "#daemon/settings/settings.ts";
import { digestSettings } from "#daemon/settings/digest.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { describeGivenConfiguration } from "./built-service.ts";
import { resourceServerSpec } from "./resource-server-spec.ts";

it("is what a service started with that environment and those files reports", async () => {
  const { spec } = resourceServerSpec({
    chainId: 1672,
    payTo: `0x${"01".repeat(20)}`,
    token: { address: `0x${"02".repeat(20)}`, name: "USDC", version: "2" },
    facilitatorUrl: "http://facilitator:4022",
    routes: {},
    publicUrl: undefined,
    publicProxies: undefined,
  });
  expect(readSettings(resourceServerSettings, { env: spec.environment }).chain.id).toBe(1672);
  const { settingsSha256, files } = describeGivenConfiguration(resourceServerSettings, spec);
  expect(settingsSha256).toBe(digestSettings(resourceServerSettings, { PATH: "/bin", ...spec.environment }));
  const digest = files["routes.json5"];
  const resolved = await new Promise((resolve) => digest?.apply(resolve));
  expect(resolved).toBe(hash("sha256", "{}\n"));
  const withSecret = { ...spec, liveSecrets: [{ name: "token", content: "short", secret: true }] };
  expect(describeGivenConfiguration(resourceServerSettings, withSecret).files).not.toHaveProperty("token");
  await runtime.disconnect();
});
