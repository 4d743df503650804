import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, expect, it } from "vitest";
import { filesInForce } from "#daemon/files/files-in-force.ts";
import { createLog } from "#daemon/log.ts";
import { openLiveRoutes } from "./live-routes.ts";

const folder = mkdtempSync(join(tmpdir(), "live-routes-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "routes.json5");
const [first, second] = [`0x${"01".repeat(20)}`, `0x${"02".repeat(20)}`];
const token = { network: "eip155:1672", address: `0x${"aa".repeat(20)}`, name: "USDC", version: "2" } as const;

function write(price: string, payTo = first) {
  const accepts = { scheme: "exact", price, network: token.network, payTo };
  writeFileSync(path, JSON.stringify({ "GET /data": { accepts, upstream: "http://upstream.test/data" } }));
}

it("takes a former offer for a while, and never one to an account that the route pays no more", async () => {
  let now = 1_000_000;
  const reader = { took: (_amount: string): void => undefined };
  const seen = (amount: string) =>
    new Promise<void>((resolve) => {
      reader.took = (found) => (found === amount ? resolve() : undefined);
    });
  write("1");
  await using routes = await openLiveRoutes(
    { path, setting: "routesPath", token, payTo: first, validitySeconds: 300, formerOfferMs: 60_000 },
    {
      clock: () => now,
      check: () => undefined,
      took: ([route]) => reader.took(route?.accepts[0]?.amount ?? ""),
      log: createLog({ service: "test", level: "silent" }),
      files: filesInForce(new Registry()),
    },
  );
  const change = async (price: string, amount: string, payTo?: string) => {
    const read = seen(amount);
    write(price, payTo);
    await read;
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const amounts = () => {
    const route = routes.find("GET", "/data");
    return (
      route && { made: route.accepts.map(({ amount }) => amount), taken: routes.taken(route).map((o) => o.amount) }
    );
  };
  expect(amounts()).toEqual({ made: ["1000000"], taken: ["1000000"] });
  await change("2", "2000000");
  expect(amounts()).toEqual({ made: ["2000000"], taken: ["2000000", "1000000"] });
  now += 30_000;
  await change("3", "3000000");
  expect(amounts()).toEqual({ made: ["3000000"], taken: ["3000000", "1000000", "2000000"] });
  now += 30_000;
  expect(amounts()).toEqual({ made: ["3000000"], taken: ["3000000", "2000000"] });
  await change("4", "4000000", second);
  expect(amounts()).toEqual({ made: ["4000000"], taken: ["4000000"] });
  expect(routes.find("POST", "/data") ?? routes.find("GET", "/data/")).toBeUndefined();
});
