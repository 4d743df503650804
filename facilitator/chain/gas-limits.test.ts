import { expect, test } from "vitest";
import type { Hex } from "#x402/hex.ts";
import { sampleSettlement } from "../testing/sample-settlement.ts";
import type { Chain } from "./chain.ts";
import { createGasLimits } from "./gas-limits.ts";

const signer = `0x${"51".repeat(20)}` as const;
const chainThatSays = (result: unknown) => ({ estimateGas: async () => ({ ok: true, result }) }) as unknown as Chain;
const create = (gasMarginPercent = 20, entriesMax = 2, monotonicMs = () => 0) =>
  createGasLimits({ gasLimit: 200_000, gasMarginPercent, entriesMax }, { signer, monotonicMs });
const idOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;

test.each([
  ["adds the margin to", 20, 65_224, 78_269n],
  ["returns", 0, 65_224, 65_224n],
  ["caps", 20, 190_000, 200_000n],
])("%s the gas estimate", async (_, margin, estimate, limit) => {
  const limits = create(margin);
  await limits.estimate(sampleSettlement, chainThatSays(`0x${estimate.toString(16)}`));
  expect(limits.find(sampleSettlement)).toBe(limit);
});

test("caches the latest estimate of each of the newest payments", async () => {
  const limits = create(0);
  for (const [id, gas] of [
    [1, 10],
    [2, 20],
    [1, 30],
    [3, 40],
  ] as const) {
    await limits.estimate({ ...sampleSettlement, id: idOf(id) }, chainThatSays(`0x${gas.toString(16)}`));
  }
  expect([1, 2, 3].map((id) => limits.find({ ...sampleSettlement, id: idOf(id) }))).toEqual([30n, undefined, 40n]);
});

test("caches no estimate after a node's error, and rejects a malformed amount of gas", async () => {
  const limits = create();
  const error = { ok: false, error: { code: 3, message: "execution reverted" } };
  expect(await limits.estimate(sampleSettlement, { estimateGas: async () => error } as unknown as Chain)).toEqual(
    error,
  );
  await expect(limits.estimate(sampleSettlement, chainThatSays("much"))).rejects.toThrow("not an amount of gas");
  expect(limits.find(sampleSettlement)).toBeUndefined();
});

/** A chain whose calls need a given amount of gas, and the calls and estimates it received. */
function recordCalls() {
  let need = 0;
  const recordedCalls: (readonly [string, number])[] = [];
  const chain = {
    estimateGas: async () => {
      recordedCalls.push(["estimate", need]);
      return { ok: true, result: `0x${need.toString(16)}` };
    },
    simulate: async ({ gas }: { gas: number }) => {
      recordedCalls.push(["call", gas]);
      return gas >= need
        ? { ok: true, result: "0x" }
        : { ok: false, error: { code: 3, message: "execution reverted" } };
    },
  } as unknown as Chain;
  return { chain, recordedCalls, needs: (gas: number) => void (need = gas) };
}

test("reuses a batch's estimate for the payee's batches for a minute, unless they need more", async () => {
  let nowMs = 0;
  const { chain, recordedCalls, needs } = recordCalls();
  const limits = create(20, 10, () => nowMs);
  const estimate = async (gas: number, payees: readonly string[]) => {
    needs(gas);
    const transfers = payees.map((payee) => ({ ...sampleSettlement, payTo: `0x${payee.repeat(20)}` as const }));
    const call = { to: sampleSettlement.contract, data: "0x" } as const;
    return limits.estimateBatch(transfers, { call, gasMax: 400_000n }, chain);
  };
  expect(await estimate(121_000, ["01", "01"])).toBe(145_200n);
  expect(await estimate(170_999, ["01", "01", "01"])).toBe(205_204n);
  expect(await estimate(200_000, ["01", "01", "01"]), "a wallet that needs more").toBe(240_000n);
  expect(await estimate(121_000, ["01", "02"]), "two payees").toBe(145_200n);
  expect(await estimate(350_000, ["01", "01", "01", "01", "01", "01", "01"]), "at most the max").toBe(400_000n);
  nowMs = 60_000;
  expect(await estimate(121_000, ["01", "01"])).toBe(145_200n);
  expect(recordedCalls).toEqual([
    ["estimate", 121_000],
    ["call", 188_104],
    ["call", 188_104],
    ["estimate", 200_000],
    ["estimate", 121_000],
    ["call", 400_000],
    ["estimate", 121_000],
  ]);
});

test("simulates a payee's payments with an estimate from the last minute, and re-estimates those that need more", async () => {
  let nowMs = 0;
  const { chain, recordedCalls, needs } = recordCalls();
  const limits = create(20, 10, () => nowMs);
  const simulate = async (id: number, gas: number, payTo = sampleSettlement.payTo) => {
    needs(gas);
    expect(await limits.simulate({ ...sampleSettlement, id: idOf(id), payTo }, chain)).toMatchObject({ ok: true });
    return limits.find({ ...sampleSettlement, id: idOf(id) });
  };
  expect(await simulate(1, 60_000)).toBe(72_000n);
  expect(await simulate(2, 65_000)).toBe(72_000n);
  expect(await simulate(3, 80_000), "a payee whose account is now empty").toBe(96_000n);
  expect(await simulate(4, 60_000, `0x${"03".repeat(20)}`), "another payee").toBe(72_000n);
  nowMs = 60_000;
  expect(await simulate(5, 60_000)).toBe(72_000n);
  expect(recordedCalls).toEqual([
    ["estimate", 60_000],
    ["call", 66_000],
    ["call", 66_000],
    ["estimate", 80_000],
    ["estimate", 60_000],
    ["estimate", 60_000],
  ]);
});
