import { expect, test } from "vitest";
import { readSettings } from "#daemon/settings/settings.ts";
import { listNetworks } from "./network-options.ts";
import { facilitatorSettings } from "./settings.ts";

const token = `0x${"0a".repeat(20)}`;
const [payee, otherPayee] = [`0x${"02".repeat(20)}`, `0x${"03".repeat(20)}`];
const assets = [{ address: token, name: "USDC", version: "2" }];

function read(settings: Readonly<Record<string, unknown>>) {
  const env = {
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: "11".repeat(32),
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify(assets),
    GATEHOUSE_FACILITATOR_PAYEES: JSON.stringify([payee]),
    GATEHOUSE_FACILITATOR_SETTLEMENT_CONFIRMATIONS: "3",
    ...Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [`GATEHOUSE_FACILITATOR_${name}`, JSON.stringify(value)]),
    ),
  };
  return listNetworks(readSettings(facilitatorSettings, { env }));
}

const chain = { id: 8453, rpcUrl: "https://base.example" };

test("inherits payees and settlement of an additional network from the first", () => {
  const [firstNetwork, secondNetwork, thirdNetwork] = read({
    NETWORKS: [
      { chain: { ...chain, batchCallsMax: 9 }, assets, settlement: { gasLimit: 90_000 } },
      { chain: { ...chain, id: 10 }, assets, payees: [] },
    ],
  });
  expect(firstNetwork).toMatchObject({ chain: { id: 1672 }, payees: [payee], settlement: { confirmations: 3 } });
  expect(secondNetwork).toMatchObject({
    chain: { ...chain, batchCallsMax: 9, rpcTimeoutMs: 30_000, fallbackRpcUrls: [] },
    payees: [payee],
    settlement: { confirmations: 3, gasLimit: 90_000, batchMax: 64 },
  });
  expect(thirdNetwork).toMatchObject({ payees: [], settlement: { gasLimit: 200_000 } });
});

test("applies a seller's limits on the first network and on those listed for it", () => {
  const limits = { assets: [{ address: token, minAmount: 5 }], gasPerDay: 0.1 };
  const alice = { name: "alice", payees: [payee], gasPerDay: 2, networks: [{ id: 8453, ...limits }] };
  const [firstNetwork, secondNetwork, thirdNetwork] = read({
    NETWORKS: [
      { chain, assets },
      { chain: { ...chain, id: 10 }, assets },
    ],
    SELLERS: [alice, { name: "bob", networks: [{ id: 10, payees: [otherPayee] }] }],
  });
  expect(firstNetwork?.sellers.get("alice")).toMatchObject({ payees: [payee], gasPerDay: 2 });
  expect(secondNetwork?.sellers.get("alice")).toEqual({ id: 8453, name: "alice", payees: [payee], ...limits });
  expect([...(secondNetwork?.sellers.keys() ?? [])]).toEqual(["alice", "bob"]);
  expect([secondNetwork?.sellers.get("bob"), thirdNetwork?.sellers.get("alice")]).toEqual([undefined, undefined]);
  expect(thirdNetwork?.sellers.get("bob")?.payees).toEqual([otherPayee]);
});

test.each([
  ["a repeated chain", [{ chain: { ...chain, id: 1672 }, assets }], /chain 1672 is configured twice/],
  ["a network without a node", [{ chain: { id: 10 }, assets }], /NETWORKS: nothing at 0\.chain\.rpcUrl/],
  ["a network without tokens", [{ chain }], /NETWORKS: nothing at 0\.assets/],
  ["an unknown key", [{ chain, assets, confirmations: 2 }], /NETWORKS: 0\.confirmations: no such setting/],
  ["a bad limit", [{ chain, assets, settlement: { confirmations: 0 } }], /found 0 at 0\.settlement\.confirmations/],
])("rejects %s with the path of the error", (_, NETWORKS, message) => {
  expect(() => read({ NETWORKS })).toThrow(message);
});
