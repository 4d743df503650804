import { expect, test } from "vitest";
import { Secret } from "#daemon/secrets/secret.ts";
import { requireRestrictedCallers, type ServedCallers } from "./exposure.ts";

const token = { address: `0x${"0a".repeat(20)}` as const, name: "USDC", version: "2" };

type Changes = Partial<ServedCallers & ServedCallers["networks"][number]>;

function served({ payees = [], assets = [{ ...token, minAmount: 1_000 }], ...changes }: Changes): () => void {
  const noCallers = {
    listen: { host: "0.0.0.0" },
    apiKeys: undefined,
    openToAnybody: false,
    networks: [{ payees, assets }],
  };
  return () => requireRestrictedCallers({ ...noCallers, ...changes });
}

test.each(["0.0.0.0", "::", "192.0.2.1", "facilitator.internal"])(
  "doesn't start on %s without API keys and payees, and names the settings",
  (host) => {
    expect(served({ listen: { host } })).toThrow(
      new RegExp(
        `GATEHOUSE_FACILITATOR_LISTEN_HOST is ${host}, .*Set GATEHOUSE_FACILITATOR_PAYEES .*` +
          "or GATEHOUSE_FACILITATOR_API_KEYS .*GATEHOUSE_FACILITATOR_OPEN_TO_ANYBODY=true",
      ),
    );
  },
);

test.each(["127.0.0.1", "127.1.2.3", "::1", "localhost"])("serves every caller on loopback address %s", (host) => {
  expect(served({ listen: { host } })).not.toThrow();
});

test.each<[string, Changes]>([
  ["with API keys", { apiKeys: new Secret("a-key-of-sixteen-or-more") }],
  ["with payees", { payees: [`0x${"02".repeat(20)}`] }],
  ["with openToAnybody", { openToAnybody: true }],
])("listens beyond loopback %s", (_, changes) => {
  expect(served(changes)).not.toThrow();
});

test("requires payees on every network", () => {
  const assets = [{ ...token, minAmount: 1_000 }];
  const limitedSeller = { payees: [`0x${"02".repeat(20)}` as const], assets };
  expect(served({ networks: [limitedSeller, { payees: [], assets }] })).toThrow(/any payment to anyone/);
});

test("rejects payees alone when a token has no min amount", () => {
  const payees = [`0x${"02".repeat(20)}`] as const;
  expect(served({ payees: [...payees], assets: [token] })).toThrow(
    /one smallest unit of 0x0a.*Add minAmount to it in GATEHOUSE_FACILITATOR_ASSETS/,
  );
  expect(served({ payees: [...payees], assets: [{ ...token, nativePrice: 420_000 }] })).not.toThrow();
  expect(served({ assets: [token], apiKeys: new Secret("a-key-of-sixteen-or-more") })).not.toThrow();
  expect(served({ listen: { host: "127.0.0.1" }, assets: [token] })).not.toThrow();
});
