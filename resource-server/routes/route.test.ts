import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import "#daemon/settings/describe-issue.ts";
import { zeroAddress } from "#x402/hex.ts";
import { openTestRoutes, payTo, token } from "../testing/sample-settings.ts";
import type { Route } from "./route.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

async function read(text: string, networks?: readonly number[]) {
  const folder = mkdtempSync(join(tmpdir(), "routes-"));
  folders.push(folder);
  const path = join(folder, "routes.json5");
  writeFileSync(path, text);
  const result = await openTestRoutes(path, networks && { networks }).catch((error: Error) => error);
  if (result instanceof Error) return result.message.replaceAll(path, "routes.json5");
  await using routes = result;
  return routes.current();
}

const offer = `{ scheme: "exact", price: "0.01", network: "eip155:1672" }`;

const listUpstreams = (upstreams: readonly string[]) =>
  `{ ${upstreams.map((upstream, index) => `"GET /${index}": { accepts: ${offer}, upstream: "${upstream}" }`).join(", ")} }`;

const unspendableOffer = `{ scheme: "exact", price: "1", network: "eip155:1672", payTo: "${zeroAddress}" }`;

describe("a routes file", () => {
  it("converts prices to offers", async () => {
    const otherPayee = "0x0000000000000000000000000000000000000001";
    const text = `{
      // comments are welcome
      "GET /data": { accepts: ${offer}, description: "Data", mimeType: "application/json", upstream: "http://u.test/d" },
      "POST /api/info": {
        accepts: [${offer}, { scheme: "exact", price: "2", network: "eip155:1672", payTo: "${otherPayee}" }],
        upstream: "http://u.test/i",
      },
    }`;
    const commonFields = { scheme: "exact", network: "eip155:1672", asset: token.address, maxTimeoutSeconds: 300 };
    const extra = { token: "USDC", name: "USDC", version: "2" };
    expect(await read(text)).toEqual([
      {
        key: "GET /data",
        method: "GET",
        path: "/data",
        accepts: [{ ...commonFields, amount: "10000", payTo, extra }],
        description: "Data",
        mimeType: "application/json",
        upstream: new URL("http://u.test/d"),
      },
      expect.objectContaining({
        key: "POST /api/info",
        accepts: [
          { ...commonFields, amount: "10000", payTo, extra },
          { ...commonFields, amount: "2000000", payTo: otherPayee, extra },
        ],
      }),
    ]);
  });

  it.each([
    ["{", /routes\.json5: line 1, column 2: .*expected JSON5/],
    ["{}", /routes\.json5: the whole file: it has no routes; add one/],
    ["[]", /routes\.json5: the whole file: .*expected an object \{ … \}, not a list/],
    [`{ "GET": ${"{}"} }`, /routes\.json5: GET: expected "<METHOD> <path>", e\.g\. "GET \/data"/],
    [`{ "HEAD /data": {} }`, /HEAD \/data: method "HEAD" is not one of GET, POST, PUT, PATCH, DELETE/],
    [`{ "GET /a//b": {} }`, /GET \/a\/\/b: path "\/a\/\/b" must begin with \//],
    [`{ "GET /a/../b": {} }`, /path "\/a\/\.\.\/b" must/],
    [`{ "GET /health": {} }`, /\/health is reserved by the server; use another path/],
    [`{ "GET /d": { accepts: ${offer} } }`, /GET \/d: upstream: /],
    [
      `{ "GET /d": { accepts: ${offer}, upstream: "ftp://x" } }`,
      /GET \/d: upstream: expected an http:\/\/ or https:\/\/ URL/,
    ],
    [`{ "GET /d": { accepts: ${offer}, upstream: "http://u.test", typo: 1 } }`, /GET \/d: .*typo/],
    [
      `{ "GET /d": { accepts: { scheme: "exact", price: "free", network: "eip155:1672" }, upstream: "http://u.test" } }`,
      /GET \/d: accepts\.price: "free" is not a price; expected dollars as a decimal number/,
    ],
    [
      `{ "GET /d": { accepts: { scheme: "exact", price: "1", network: "eip155:1" }, upstream: "http://u.test" } }`,
      /GET \/d: accepts\.network: found "eip155:1"; this server charges only on "eip155:1672" .* unless the offer specifies its asset/,
    ],
    [
      `{ "GET /d": { accepts: { scheme: "exact", price: "10000", network: "eip155:1672" }, upstream: "http://u.test" } }`,
      /GET \/d: accepts\.price: "10000" means 10000 dollars; write "\$10000" if you want that, or "0\.01" for 10000 of the token's/,
    ],
    [
      `{ "GET /d": { accepts: { scheme: "exact", price: "0.0000001", network: "eip155:1672" }, upstream: "http://u.test" } }`,
      /accepts\.price: "0\.0000001" rounds to 0 smallest units of the token; the minimum price is 0\.000001/,
    ],
    [
      `{ "GET /d": { accepts: ${offer}, upstream: "http://u.test", description: "${"x".repeat(1_001)}" } }`,
      /GET \/d: description: .*1000/,
    ],
    [
      `{ "GET /a": { accepts: ${unspendableOffer}, upstream: "http://u.test" }, "GET /b": { accepts: ${unspendableOffer}, upstream: "http://u.test" } }`,
      /^[^\n]*GET \/a, GET \/b: accepts\.payTo [^\n]*$/,
    ],
    ...[token.address, zeroAddress].map((lost): [string, RegExp] => [
      `{ "GET /d": { accepts: { scheme: "exact", price: "1", network: "eip155:1672", payTo: "${lost}" }, upstream: "http://u.test" } }`,
      new RegExp(`GET /d: accepts\\.payTo .*: no one can spend what ${lost} is paid; use your own account`),
    ]),
  ])("rejects %s with a reason", async (text, message) => {
    expect(await read(text)).toMatch(message);
  });

  it("sells on another network in the offer's token if the server settles there", async () => {
    const address = "0x0000000000000000000000000000000000000001";
    const asset = `{ address: "${address}", name: "Dai", version: "1", decimals: 18 }`;
    const text = `{ "GET /d": { accepts: [${offer}, { scheme: "exact", price: "0.5", network: "eip155:8453", asset: ${asset} }], upstream: "http://u.test" } }`;
    const [route] = (await read(text)) as readonly Route[];
    expect(route?.accepts[1]).toMatchObject({
      network: "eip155:8453",
      asset: address,
      amount: "500000000000000000",
      extra: { name: "Dai", version: "1", decimals: 18 },
    });
    expect(await read(text, [10])).toMatch(
      /GET \/d: accepts\.network: found "eip155:8453"; this server settles on "eip155:1672" or "eip155:10" \(setting settlement\.networks\)/,
    );
  });

  it("rejects upstreams that are the server itself, under any name of a loopback listener", async () => {
    const own = ["127.0.0.1:4021", "localhost:4021", "[::1]:4021", "0.0.0.0:4021"].map(
      (authority) => `http://${authority}`,
    );
    const found = String(await read(listUpstreams(own.map((origin) => `${origin}/data`)))).split("\n");
    expect(found).toEqual(
      own.map(
        (origin, index) =>
          `GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routes.json5: GET /${index}: upstream: found ${origin}, this server's own listener (setting listen.port); set the URL of the service to sell.`,
      ),
    );
    const others = ["http://127.0.0.1:4022", "http://u.test:4021", "http://127.0.0.1", "http://10.0.0.1:4021"];
    expect(await read(listUpstreams(others))).toHaveLength(others.length);
  });

  it("reports how many routes there are if there are too many", async () => {
    expect(await read(listUpstreams(Array.from({ length: 1_003 }, () => "http://u.test")))).toMatch(
      /routes\.json5: the whole file: found 1003 routes; 1000 at most: sell the rest with another server\.$/,
    );
  });

  it("reports all problems at once", async () => {
    const invalidRoute = `{ scheme: "exact", price: "x", network: "eip155:1" }`;
    const text = `{ "GET /a": { accepts: ${invalidRoute}, upstream: "http://u.test" }, "GET /b": { accepts: ${invalidRoute}, upstream: "http://u.test" } }`;
    expect(String(await read(text)).split("\n")).toHaveLength(4);
  });

  it("reports a missing file", async () => {
    await expect(openTestRoutes("/nowhere/routes.json5")).rejects.toThrow(
      "/nowhere/routes.json5: can't be read (ENOENT); expected a readable JSON5 file.",
    );
  });
});
