import { hash } from "node:crypto";
import { runtime } from "@pulumi/pulumi";
import { expect, it } from "vitest";
import { digestSettings } from "#daemon/settings/settings.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { parseConfig } from "../stack-config.ts";
import { describeGivenConfiguration } from "./built-service.ts";
import { buildResourceServerSpec } from "./resource-server-spec.ts";
import { describeTarget } from "./stack-context.ts";

const accepts = { scheme: "exact", network: "eip155:1672", price: "$0.01" };
const routes = { "GET /data": { accepts, upstream: "https://api.example/data" } };

it("describeGivenConfiguration digests settings and files as the running service does", async () => {
  const raw = { payTo: `0x${"01".repeat(20)}`, tokenAddress: `0x${"02".repeat(20)}`, stackSecret: "5f".repeat(32) };
  const config = parseConfig({ ...raw, routes: JSON.stringify(routes) });
  const context = { prefix: "gh", ...describeTarget(config, "gh"), secret: deploymentSecret };
  const { spec } = buildResourceServerSpec(config, context);
  expect(spec.environment).toMatchObject({ GATEHOUSE_RESOURCE_SERVER_CHAIN_ID: "1672" });
  const { settingsSha256, files } = describeGivenConfiguration(resourceServerSettings, spec);
  expect(settingsSha256).toBe(digestSettings(resourceServerSettings, { PATH: "/bin", ...spec.environment }));
  const digest = files["routes.json5"];
  const resolved = await new Promise((resolve) => digest?.apply(resolve));
  expect(resolved).toBe(hash("sha256", `${JSON.stringify(routes, undefined, 2)}\n`));
  const withSecret = { ...spec, liveSecrets: [{ name: "token", content: "short", secret: true }] };
  expect(describeGivenConfiguration(resourceServerSettings, withSecret).files).not.toHaveProperty("token");
  await runtime.disconnect();
});
