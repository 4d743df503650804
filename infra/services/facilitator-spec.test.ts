import { readFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { parseConfig } from "../stack-config.ts";
import { facilitatorSpec, readFacilitatorArgs } from "./facilitator-spec.ts";
import { computeMinAmount, type Routes } from "./sold-routes.ts";
import { describeTarget } from "./stack-context.ts";

const token = `0x${"02".repeat(20)}`;
const offer = { scheme: "exact", network: "eip155:1672", price: "$0.01" };
const other = { address: `0x${"03".repeat(20)}`, name: "EURC", version: "2", decimals: 2 };
const upstream = "https://api.example/data";

/** Builds the facilitator of a stack that sells the offers, one route each; none: the sample. */
function build(offers: readonly unknown[], settings: object = {}) {
  const routes = Object.fromEntries(offers.map((accepts, index) => [`GET /${index}`, { accepts, upstream }]));
  const config = parseConfig({
    devAccounts: "true",
    tokenAddress: token,
    target: "kubernetes",
    gatehouseImage: "registry.example/gatehouse:1",
    devnetImage: "registry.example/devnet:1",
    routes: JSON.stringify(routes),
    settings: JSON.stringify({ facilitator: settings }),
  });
  const context = { prefix: "gh", ...describeTarget(config, "gh"), secret: deploymentSecret };
  return facilitatorSpec(readFacilitatorArgs(config, context));
}

it.each<[string, readonly unknown[], number]>([
  ["the sample's cheapest route", [], 10_000],
  [
    "the cheapest of all routes and offers",
    [
      { ...offer, price: "0.2" },
      [
        { ...offer, price: "2" },
        { ...offer, price: "0.05" },
      ],
    ],
    10_000,
  ],
  ["an offer with an explicit token", [offer, { ...offer, price: "0.5", asset: { ...other, address: token } }], 10],
  [
    "the stack's chain and token only",
    [offer, { ...offer, network: "eip155:1", price: "0.001" }, { ...offer, price: "0.01", asset: other }],
    10_000,
  ],
  ["exact prices only, not a maximum", [{ ...offer, scheme: "upto", price: "0.001" }, offer], 10_000],
  ["valid prices only", [{ ...offer, price: "cheap" }, offer, undefined], 10_000],
])("derives minAmount from %s", (_, offers, minAmount) => {
  const { spec, problems } = build(offers);
  expect(problems).toEqual([]);
  expect(JSON.parse(spec.environment["GATEHOUSE_FACILITATOR_ASSETS"] ?? "")).toMatchObject([
    { address: token, minAmount },
  ]);
});

const unpriced = [{ ...offer, asset: other }];

it("requires a min amount if no route has an exact price in the token", () => {
  expect(build(unpriced).problems).toMatchObject([
    {
      key: "settings.facilitator.assets",
      message: expect.stringContaining(`no route has an exact price in ${token}`) as string,
    },
  ]);
});

it.each<object>([
  { apiKeys: "k".repeat(32) },
  { openToAnybody: true },
  { assets: [{ address: token, name: "USDC", version: "2", minAmount: 500 }] },
])("accepts the operator's own limit: %j", (settings) => {
  expect(build(unpriced, settings).problems).toEqual([]);
});

const read = (path: string) => readFileSync(join(import.meta.dirname, "../../examples/compose/devnet", path), "utf8");

it("the Compose file's minAmount matches the prices of its routes", () => {
  const { services } = parse(read("compose.yaml"), { merge: true }) as {
    services: { facilitator: { environment: Record<string, string> } };
  };
  const [asset] = JSON.parse(services.facilitator.environment["GATEHOUSE_FACILITATOR_ASSETS"] ?? "") as [
    { address: string; minAmount: number },
  ];
  const routes = JSON5.parse<Routes>(read("routes/routes.json5"));
  expect(asset.minAmount).toBe(computeMinAmount(routes, 1672, asset.address));
});
