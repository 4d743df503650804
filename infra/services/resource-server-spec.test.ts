import { expect, it } from "vitest";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { parseConfig } from "../stack-config.ts";
import { buildResourceServerSpec } from "./resource-server-spec.ts";
import { listPayees } from "./sold-routes.ts";
import { describeTarget } from "./stack-context.ts";

const offer = { scheme: "exact", network: "eip155:1672", price: "$0.01" };
const upstream = "https://api.example/data";

function built(routes: Readonly<Record<string, unknown>>, tokenVersion = "2") {
  const config = parseConfig({
    payTo: `0x${"01".repeat(20)}`,
    tokenAddress: `0x${"02".repeat(20)}`,
    tokenVersion,
    stackSecret: "5f".repeat(32),
    routes: JSON.stringify(routes),
  });
  return buildResourceServerSpec(config, { prefix: "gh", ...describeTarget(config, "gh"), secret: deploymentSecret });
}

function problemsWith(routes: Readonly<Record<string, unknown>>): readonly string[] {
  return built(routes).problems.map(({ key, message }) => `${key}: ${message}`);
}

it("passes the token version to the resource server", () => {
  const { spec } = built({ "GET /data": { accepts: offer, upstream } }, "1");
  expect(spec.environment).toMatchObject({ GATEHOUSE_RESOURCE_SERVER_TOKEN_VERSION: "1" });
});

it("accepts valid routes", () => {
  expect(problemsWith({ "GET /data": { accepts: offer, upstream } })).toEqual([]);
});

it.each<[string, unknown, string]>([
  ["data", { accepts: offer, upstream }, 'data: expected "<METHOD> <path>", e.g. "GET /data".'],
  ["GET /a", { accepts: { ...offer, network: 1 }, upstream }, "GET /a: accepts: network: expected text, not a number."],
  ["GET /a", { accepts: [{ ...offer, network: "eip155:1" }], upstream }, 'GET /a: accepts.network: found "eip155:1";'],
  ["GET /a", { accepts: { ...offer, price: "1 USD" }, upstream }, 'GET /a: accepts.price: "1 USD" is not a price;'],
  [
    "GET /a",
    { accepts: offer, upstream: "http://resource-server:4021/a" },
    "GET /a: upstream: found http://resource-server:4021, this server's own listener",
  ],
  ["GET /a", null, "GET /a: expected an object { … }, not null."],
])("rejects at preview a route that the resource server rejects at startup: %s %j", (key, route, words) => {
  expect(problemsWith({ [key]: route })).toEqual([expect.stringContaining(`routes: ${words}`)]);
});

const [stack, first, second] = ["0xAA", "0xBB", "0xCC"];

it("listPayees returns the stack's account and those of its routes once each", () => {
  const routes = {
    "GET /a": { accepts: { price: "0.01", payTo: first }, upstream },
    "GET /b": { accepts: [{ price: "0.01" }, { price: "0.02", payTo: second }, { payTo: "0xbb" }], upstream },
  };
  expect(listPayees(stack, routes).map((account) => account.toUpperCase())).toEqual(["0XAA", "0XBB", "0XCC"]);
});

it("listPayees returns nothing for malformed routes without an account", () => {
  expect(listPayees(undefined, { "GET /a": "wrong", "GET /b": { upstream }, "GET /c": { accepts: {} } })).toEqual([]);
});
