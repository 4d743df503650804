import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openTestRoutes, payTo as first } from "../testing/sample-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "sold-routes-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "routes.json5");
const secondPayee = `0x${"02".repeat(20)}`;

type Offered = Readonly<{ price: string; payTo?: string }>;

const buildOffer = ({ price, payTo = first }: Offered) => ({ scheme: "exact", price, network: "eip155:1672", payTo });

/** Writes a routes file with one route; `product` is everything in it but its offer. */
function write(offeredTerms: Offered, product: object = { upstream: "http://upstream.test/data" }) {
  writeFileSync(path, JSON.stringify({ "GET /data": { accepts: buildOffer(offeredTerms), ...product } }));
}

const listAmounts = (offers: readonly { amount: string }[]) => offers.map(({ amount }) => amount);

/** Opens routes with a price of 1; `change` rewrites them and waits until they are loaded. */
async function openRoutes(product?: object) {
  let now = 1_000_000;
  let onRoutes: (() => void) | undefined;
  write({ price: "1" }, product);
  const routes = await openTestRoutes(path, { clock: () => now, onRoutes: () => onRoutes?.() });
  const findRoute = () => routes.find("GET", "/data");
  return {
    routes,
    pass: (ms: number) => void (now += ms),
    change: async (offeredTerms: Offered, changed = product) => {
      const reloaded = new Promise<void>((resolve) => (onRoutes = () => setImmediate(resolve)));
      write(offeredTerms, changed);
      await reloaded;
    },
    amounts: () => {
      const route = findRoute();
      return route && { made: listAmounts(route.accepts), taken: listAmounts(routes.taken(route)) };
    },
    [Symbol.asyncDispose]: () => routes[Symbol.asyncDispose](),
  };
}

it("accepts a former offer for a minute, unless it pays a removed account", async () => {
  await using openedRoutes = await openRoutes();
  const { routes, pass, change, amounts } = openedRoutes;
  expect(amounts()).toEqual({ made: ["1000000"], taken: ["1000000"] });
  await change({ price: "2" });
  expect(amounts()).toEqual({ made: ["2000000"], taken: ["2000000", "1000000"] });
  pass(30_000);
  await change({ price: "3" });
  expect(amounts()).toEqual({ made: ["3000000"], taken: ["3000000", "1000000", "2000000"] });
  pass(30_000);
  expect(amounts()).toEqual({ made: ["3000000"], taken: ["3000000", "2000000"] });
  await change({ price: "4", payTo: secondPayee });
  expect(amounts()).toEqual({ made: ["4000000"], taken: ["4000000"] });
  expect(routes.find("POST", "/data") ?? routes.find("GET", "/data/")).toBeUndefined();
});

it("accepts the latest 64 former offers of a route", async () => {
  await using openedRoutes = await openRoutes();
  const formerOfferCount = 14;
  const listPrices = (from: number) => Array.from({ length: formerOfferCount }, (_, at) => String(from + at));
  for (let from = 2; from <= 2 + 5 * formerOfferCount; from += formerOfferCount) {
    const [price = "", ...otherPrices] = listPrices(from);
    const accepts = [price, ...otherPrices].map((each) => buildOffer({ price: each }));
    await openedRoutes.change({ price }, { upstream: "http://upstream.test/data", accepts });
  }
  const { made = [], taken = [] } = openedRoutes.amounts() ?? {};
  expect(made[0]).toBe("72000000");
  expect(taken.slice(formerOfferCount)).toEqual(Array.from({ length: 64 }, (_, at) => `${at + 8}000000`));
});

const upstream = "http://upstream.test/data";
it.each([
  ["a better token", { token: { tier: "paid", seconds: 3_600 } }, { token: { tier: "gold", seconds: 31_536_000 } }],
  ["another upstream", { upstream }, { upstream: "http://upstream.test/dearer" }],
  ["another media type", { upstream, mimeType: "text/plain" }, { upstream, mimeType: "application/pdf" }],
])("rejects former offers after a change to %s", async (_, before, after) => {
  await using openedRoutes = await openRoutes(before);
  await openedRoutes.change({ price: "2" });
  expect(openedRoutes.amounts()?.taken).toEqual(["2000000", "1000000"]);
  await openedRoutes.change({ price: "50" }, after);
  expect(openedRoutes.amounts()?.taken).toEqual(["50000000"]);
  await openedRoutes.change({ price: "51" }, after);
  expect(openedRoutes.amounts()?.taken).toEqual(["51000000", "50000000"]);
});
