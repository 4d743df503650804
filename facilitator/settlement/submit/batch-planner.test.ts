import { expect, test } from "vitest";
import { createGasLimits } from "../../chain/gas-limits.ts";
import type { Chain } from "../../chain/chain.ts";
import { permit2Proxies } from "#x402/permit2.ts";
import type { Hex } from "#x402/hex.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { sampleSettlement } from "../../testing/sample-settlement.ts";
import { type Settlement, createInFlightSettlements } from "../settlement.ts";
import { createBatchPlanner } from "./batch-planner.ts";

const signer: Hex = `0x${"51".repeat(20)}`;

const logsUses = (asset: Hex) => asset === sampleSettlement.asset;
const contracts = () => new Set([multicall3Address.toLowerCase()]);

/** Returns which planned payments share a transaction, by index, and the caps of the estimates. */
async function plan(changes: readonly Partial<Settlement>[], blockGas = 30_000_000n) {
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  const gas = createGasLimits(
    { gasLimit: 200_000, gasMarginPercent: 20, entriesMax: 100 },
    { signer, monotonicMs: () => 0 },
  );
  const caps: number[] = [];
  const chain = {
    head: async () => ({ number: 1, timestamp: 0, gasLimit: blockGas }),
    estimateGas: async ({ gas: cap }: { gas: number }) => {
      caps.push(cap);
      return { ok: true, result: "0x186a0" };
    },
  } as unknown as Chain;
  const entries = changes.map((change, index) => {
    const id: Hex = `0x${String(index).padStart(64, "0")}`;
    return book.add({ ...sampleSettlement, id, authorizationNonce: id, ...change }, []);
  });
  const jobs = await createBatchPlanner(
    { chain, gas, contracts },
    { signer, logsUses },
  )(entries.map((entry) => ({ entries: [entry], replaced: undefined })));
  return { groups: jobs.map((job) => job.entries.map((entry) => entries.indexOf(entry))), caps };
}

const byPermit2 = { contract: permit2Proxies.exact } as const;

test("batches identical payments by one payer only if their receipts differ, which Permit2's don't", async () => {
  expect((await plan([{}, {}, {}])).groups).toEqual([[0, 1, 2]]);
  const otherPayment = { ...byPermit2, amount: 20_000n };
  expect((await plan([byPermit2, otherPayment, byPermit2, {}])).groups).toEqual([[0, 1], [2], [3]]);
});

test("sends `upto`, wallet creations and tokens with unknown logs in separate transactions", async () => {
  const separateJobs = [
    { contract: permit2Proxies.upto },
    { contract: multicall3Address },
    { asset: signer, contract: signer },
  ];
  expect((await plan([...separateJobs, {}, {}])).groups).toEqual([[0], [1], [2], [3, 4]]);
});

test("limits a batch to a quarter of a block's gas, and moves the rest to the next batch", async () => {
  const { groups, caps } = await plan([{}, {}, {}, {}, {}], 1_600_000n);
  expect(groups).toEqual([[0, 1], [2, 3], [4]]);
  expect(caps).toEqual([400_000, 400_000]);
});
