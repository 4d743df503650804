import { expect, it } from "vitest";
import { resourceServerSpec } from "./resource-server-spec.ts";

const offer = { scheme: "exact", network: "eip155:1672", price: "$0.01" };
const upstream = "https://api.example/data";

function problemsWith(routes: Readonly<Record<string, unknown>>): readonly string[] {
  const { problems } = resourceServerSpec({
    chainId: 1_672,
    payTo: `0x${"01".repeat(20)}`,
    token: { address: `0x${"02".repeat(20)}`, name: "USDC", version: "2" },
    facilitatorUrl: "http://facilitator:3000",
    routes,
    publicUrl: undefined,
    limits: undefined,
    settings: undefined,
  });
  return problems.map(({ key, message }) => `${key}: ${message}`);
}

it("takes routes that the resource server would start with", () => {
  expect(problemsWith({ "GET /data": { accepts: offer, upstream } })).toEqual([]);
});

it.each<[string, unknown, string]>([
  ["data", { accepts: offer, upstream }, 'data: expected "<METHOD> <path>", e.g. "GET /data".'],
  [
    "GET /a",
    { accepts: { ...offer, network: 1 }, upstream },
    "GET /a: accepts: network: Invalid input: expected string,",
  ],
  ["GET /a", { accepts: [{ ...offer, network: "eip155:1" }], upstream }, 'GET /a: accepts.network: found "eip155:1";'],
  ["GET /a", { accepts: { ...offer, price: "1 USD" }, upstream }, 'GET /a: accepts.price: "1 USD" is no price;'],
  ["GET /a", null, "GET /a: Invalid input: expected object,"],
])("refuses at preview what the resource server would refuse at its start: %s %j", (key, route, words) => {
  expect(problemsWith({ [key]: route })).toEqual([expect.stringContaining(`routes: ${words}`)]);
});
