import { pino } from "pino";
import { expect, test } from "vitest";
import type { Chain } from "../../chain/chain.ts";
import { createGasLimits } from "../../chain/gas-limits.ts";
import { encodeInteger } from "#x402/hex.ts";
import { sampleAttempt, sampleMs, sampleSettlement } from "../../testing/sample-settlement.ts";
import { createInFlightBook } from "../in-flight.ts";
import { createNonceAllocator } from "../submit/nonces.ts";
import { createTracker, type TrackerDependencies } from "./tracker.ts";

const lookEveryMs = 500;
const options = { confirmations: 1, bumpAfterMs: 15_000, bumpPercent: 25, maxFeePerGasGwei: 1 };

/** Limits of gas, and what the transactions of the samples have of it. */
const gasOf = (limit = 78_000n) => ({
  gas: createGasLimits(
    { gasLimit: 200_000, gasMarginPercent: 20, entriesMax: 10 },
    { signer: sampleAttempt.signer, monotonicMs: () => 0 },
  ),
  readGasLimit: () => limit,
});

/** Lasts longer than any of these looks. */
const settlement = { ...sampleSettlement, validBefore: sampleSettlement.validBefore + 3_600n };

/** A settlement whose nonce another transaction has used, and that can't be sent again: nothing is ever signed. */
function startLost() {
  const state = { nowMs: sampleMs, nextNonce: 6, submits: [] as number[], lines: [] as string[] };
  const book = createInFlightBook({ clock: () => sampleMs, monotonicMs: () => sampleMs });
  const entry = book.add(settlement, [sampleAttempt]);
  const chain = {
    head: async () => ({ number: 100, timestamp: Math.floor(state.nowMs / 1_000), baseFeePerGas: 1n }),
    transactionCount: async () => state.nextNonce,
    receipt: async () => undefined,
    read: async () => `0x${encodeInteger(0n)}`,
    send: async () => ({ kind: "accepted" }),
  } as unknown as Chain;
  const tracker = createTracker(options, {
    chain,
    ...gasOf(),
    book,
    signer: sampleAttempt.signer,
    ledger: {} as TrackerDependencies["ledger"],
    nonces: createNonceAllocator(),
    noteUses: () => undefined,
    suspensions: { add: () => undefined, end: () => undefined },
    submitter: { submit: () => state.submits.push(state.nowMs - sampleMs), replace: () => undefined },
    monotonicMs: () => state.nowMs,
    log: pino({ level: "info" }, { write: (line: string) => void state.lines.push(line) }),
  });
  const lookFor = async (durationMs: number) => {
    for (const until = state.nowMs + durationMs; state.nowMs < until; state.nowMs += lookEveryMs) await tracker.look();
  };
  return { state, entry, lookFor };
}

test("a lost transaction that can't be sent again is looked for ever less often, and reported once", async () => {
  const { state, lookFor } = startLost();
  await lookFor(180_000);
  expect(state.submits).toEqual([3_000, 4_000, 6_000, 10_000, 18_000, 34_000, 64_000, 94_000, 124_000, 154_000]);
  expect(state.lines).toHaveLength(1);
  expect(state.lines[0]).toContain("looking for what became of a settlement");
});

test("one that is lost again, after it was not, is reported again and looked for at once", async () => {
  const { state, entry, lookFor } = startLost();
  await lookFor(60_000);
  entry.attempts = [...entry.attempts, { ...sampleAttempt, hash: `0x${"bb".repeat(32)}`, nonce: 6 }];
  entry.sentAtMs = state.nowMs;
  await lookFor(2_000);
  state.submits.length = 0;
  state.nextNonce = 7;
  const lostAtMs = state.nowMs - sampleMs;
  await lookFor(4_500);
  expect(state.submits).toEqual([lostAtMs + 3_000, lostAtMs + 4_000]);
  expect(state.lines).toHaveLength(2);
});

test("a node that fails while the ledger can't be written fails the look, and nothing else", async () => {
  const unheard: unknown[] = [];
  const onUnheard = (error: unknown) => void unheard.push(error);
  process.on("unhandledRejection", onUnheard);
  const [book, nodeDown] = [
    createInFlightBook({ clock: Date.now, monotonicMs: () => sampleMs }),
    Promise.withResolvers<never>(),
  ];
  const [settled, missing] = [`0x${"aa".repeat(32)}`, `0x${"bb".repeat(32)}`] as const;
  book.add(settlement, [{ ...sampleAttempt, hash: settled, nonce: 5 }]);
  const another = { id: `0x${"2e".repeat(32)}`, authorizationNonce: `0x${"0d".repeat(32)}` } as const;
  book.add({ ...settlement, ...another }, [{ ...sampleAttempt, hash: missing, nonce: 6 }]);
  const receipt = { status: 1, blockNumber: 90, transactionHash: settled, gasUsed: 65_000n, logs: [] };
  const chain = {
    head: async () => ({ number: 100, timestamp: Math.floor(sampleMs / 1_000), baseFeePerGas: 1n }),
    transactionCount: async () => 6,
    receipt: async (hash: string) => (hash === settled ? receipt : undefined),
    send: () => nodeDown.promise,
  } as unknown as Chain;
  const tracker = createTracker(options, {
    chain,
    ...gasOf(),
    book,
    signer: sampleAttempt.signer,
    ledger: { finish: () => Promise.reject(new Error("no ledger")) } as unknown as TrackerDependencies["ledger"],
    nonces: createNonceAllocator(),
    noteUses: () => undefined,
    suspensions: { add: () => undefined, end: () => undefined },
    submitter: { submit: () => undefined, replace: () => undefined },
    monotonicMs: () => sampleMs,
    log: pino({ level: "silent" }),
  });
  const looking = expect(tracker.look()).rejects.toThrow("no ledger");
  await new Promise(setImmediate);
  nodeDown.reject(new Error("no node"));
  await looking;
  await new Promise(setImmediate);
  process.off("unhandledRejection", onUnheard);
  expect(unheard).toEqual([]);
});
