import { pino } from "pino";
import { expect, test } from "vitest";
import type { Hex } from "#x402/hex.ts";
import type { SendOutcome } from "../../chain/chain.ts";
import { createGasLimits } from "../../chain/gas-limits.ts";
import { encodeSample, sampleAttempt, sampleMs, sampleSettlement } from "../../testing/sample-settlement.ts";
import type { SettlementContext } from "../context.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createInFlightSettlements } from "../settlement.ts";
import { createSendBatch } from "./send-batch.ts";
import { createNonceAllocator } from "./sign-batch.ts";

const gwei = 1_000_000_000n;
const fees = { maxFeePerGas: 30n * gwei, maxPriorityFeePerGas: gwei };

/** A node whose pool has a transaction of an expired payment at the next nonce, with this priority fee. */
function startSending({ pooledTip, maxFeePerGasGwei = 500 }: { pooledTip: bigint; maxFeePerGasGwei?: number }) {
  const offeredFees: bigint[] = [];
  const sign = async ({ maxPriorityFeePerGas }: typeof fees) => {
    offeredFees.push(maxPriorityFeePerGas);
    return {
      hash: `0x${maxPriorityFeePerGas.toString(16).padStart(64, "0")}` as Hex,
      rawTransaction: encodeSample(1n),
    };
  };
  const signer = { address: sampleAttempt.signer, sign, check: async () => undefined };
  const send = async (): Promise<SendOutcome> =>
    (offeredFees.at(-1) ?? 0n) * 10n < pooledTip * 11n
      ? { kind: "nonce_taken", message: "replacement transaction underpriced" }
      : { kind: "accepted" };
  const context = {
    chainId: 1_672,
    settlement: { bumpPercent: 25, gasLimit: 200_000, maxFeePerGasGwei, batchMax: 1 },
    chain: { send, transactionCount: async () => 5 },
    fees: { quote: async () => fees },
    gas: createGasLimits(
      { gasLimit: 200_000, gasMarginPercent: 20, entriesMax: 10 },
      { signer: signer.address, monotonicMs: () => 0 },
    ),
    contracts: () => new Set(),
    clock: () => sampleMs,
    monotonicMs: () => sampleMs,
    log: pino({ level: "silent" }),
  } as unknown as SettlementContext;
  const entry = createInFlightSettlements(context).add(sampleSettlement, [{ ...sampleAttempt, ...fees, nonce: 6 }]);
  const ledger = { begin: async () => undefined, withdraw: async () => undefined } as unknown as Ledger;
  const account = { signer, nonces: createNonceAllocator(), recordProblem: () => false };
  const sendBatch = createSendBatch(context, account, { ledger, logsUses: () => false });
  const replace = async () => {
    const [newestAttempt] = entry.attempts;
    await sendBatch([{ entries: [entry], replaced: newestAttempt && { ...newestAttempt, nonce: 5 } }]);
  };
  const fillGap = () => sendBatch([{ entries: [entry], replaced: undefined }]);
  return { replace, fillGap, entry, offeredFees };
}

test("raises the fees after each replacement that the node rejects as underpriced", async () => {
  const { replace, entry, offeredFees } = startSending({ pooledTip: 3n * gwei });
  for (let tries = 0; tries < 20 && entry.attempts.length === 1; tries += 1) await replace();
  expect(entry.attempts.at(-1)).toMatchObject({ nonce: 5 });
  expect(offeredFees.length).toBe(6);
  expect(offeredFees).toEqual(offeredFees.toSorted((a, b) => Number(a - b)));
});

test("falls back to the settlement's own fees once the raised ones exceed the limit", async () => {
  const { replace, entry, offeredFees } = startSending({ pooledTip: 3n * gwei, maxFeePerGasGwei: 40 });
  for (let tries = 0; tries < 3; tries += 1) await replace();
  expect(entry.attempts).toHaveLength(1);
  expect(offeredFees).toEqual([(5n * gwei) / 4n, (5n * gwei) / 4n]);
});

test("signs no third transaction if another one filled the gap first, because the first is still waiting", async () => {
  const { fillGap, entry } = startSending({ pooledTip: 3n * gwei });
  expect(await fillGap()).toMatchObject({ signed: 1, again: [], unsent: [] });
  expect(entry.attempts.map(({ nonce }) => nonce)).toEqual([6, 5]);
});
