import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, expect, it } from "vitest";
import { createFilesInForce } from "#daemon/files/files-in-force.ts";
import { createLog } from "#daemon/log/log.ts";
import { openLiveRoutes } from "./live-routes.ts";

const folder = mkdtempSync(join(tmpdir(), "live-routes-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "routes.json5");
const [first, second] = [`0x${"01".repeat(20)}`, `0x${"02".repeat(20)}`];
const token = { network: "eip155:1672", address: `0x${"aa".repeat(20)}`, name: "USDC", version: "2" } as const;

type Offered = Readonly<{ price: string; payTo?: string }>;

const offerOf = ({ price, payTo = first }: Offered) => ({ scheme: "exact", price, network: token.network, payTo });

/** Writes a routes file with one route; `product` is everything in it but its offer. */
function write(offered: Offered, product: object = { upstream: "http://upstream.test/data" }) {
  writeFileSync(path, JSON.stringify({ "GET /data": { accepts: offerOf(offered), ...product } }));
}

/** Opens routes with a price of 1; `change` rewrites them and waits until they are loaded. */
async function openRoutes(product?: object) {
  let now = 1_000_000;
  const reader = { onRoutes: (_amount: string): void => undefined };
  const seen = (amount: string) =>
    new Promise<void>((resolve) => {
      reader.onRoutes = (found) => (found === amount ? resolve() : undefined);
    });
  write({ price: "1" }, product);
  const routes = await openLiveRoutes(
    { path, setting: "routesPath", token, payTo: first, validitySeconds: 300, formerOfferMs: 60_000 },
    {
      clock: () => now,
      check: () => undefined,
      onRoutes: ([route]) => reader.onRoutes(route?.accepts[0]?.amount ?? ""),
      log: createLog({ service: "test", level: "silent" }),
      files: createFilesInForce(new Registry()),
    },
  );
  return {
    routes,
    pass: (ms: number) => {
      now += ms;
    },
    change: async (offered: Offered, changed = product) => {
      const read = seen(`${offered.price}000000`);
      write(offered, changed);
      await read;
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
    amounts: () => {
      const route = routes.find("GET", "/data");
      return (
        route && { made: route.accepts.map(({ amount }) => amount), taken: routes.taken(route).map((o) => o.amount) }
      );
    },
    [Symbol.asyncDispose]: () => routes[Symbol.asyncDispose](),
  };
}

it("takes a former offer for a while, and never one to an account that the route pays no more", async () => {
  await using opened = await openRoutes();
  const { routes, pass, change, amounts } = opened;
  expect(amounts()).toEqual({ made: ["1000000"], taken: ["1000000"] });
  await change({ price: "2" });
  expect(amounts()).toEqual({ made: ["2000000"], taken: ["2000000", "1000000"] });
  pass(30_000);
  await change({ price: "3" });
  expect(amounts()).toEqual({ made: ["3000000"], taken: ["3000000", "1000000", "2000000"] });
  pass(30_000);
  expect(amounts()).toEqual({ made: ["3000000"], taken: ["3000000", "2000000"] });
  await change({ price: "4", payTo: second });
  expect(amounts()).toEqual({ made: ["4000000"], taken: ["4000000"] });
  expect(routes.find("POST", "/data") ?? routes.find("GET", "/data/")).toBeUndefined();
});

it("takes sixty-four former offers of a route, the latest", async () => {
  await using opened = await openRoutes();
  const several = 14;
  const pricesFrom = (from: number) => Array.from({ length: several }, (_, at) => String(from + at));
  for (let from = 2; from <= 2 + 5 * several; from += several) {
    const [price = "", ...others] = pricesFrom(from);
    const accepts = [price, ...others].map((each) => offerOf({ price: each }));
    await opened.change({ price }, { upstream: "http://upstream.test/data", accepts });
  }
  const { made = [], taken = [] } = opened.amounts() ?? {};
  expect(made[0]).toBe("72000000");
  expect(taken.slice(several)).toEqual(Array.from({ length: 64 }, (_, at) => `${at + 8}000000`));
});

const upstream = "http://upstream.test/data";
it.each([
  ["a better token", { token: { tier: "paid", seconds: 3_600 } }, { token: { tier: "gold", seconds: 31_536_000 } }],
  ["another upstream", { upstream }, { upstream: "http://upstream.test/dearer" }],
  ["another media type", { upstream, mimeType: "text/plain" }, { upstream, mimeType: "application/pdf" }],
])("takes no former offer for %s", async (_, before, after) => {
  await using opened = await openRoutes(before);
  await opened.change({ price: "2" });
  expect(opened.amounts()?.taken).toEqual(["2000000", "1000000"]);
  await opened.change({ price: "50" }, after);
  expect(opened.amounts()?.taken).toEqual(["50000000"]);
  await opened.change({ price: "51" }, after);
  expect(opened.amounts()?.taken).toEqual(["51000000", "50000000"]);
});
