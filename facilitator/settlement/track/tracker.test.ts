import { pino } from "pino";
import { expect, test } from "vitest";
import type { Chain, Receipt } from "../../chain/chain.ts";
import { ChainError } from "../../chain/chain-error.ts";
import { createGasLimits } from "../../chain/gas-limits.ts";
import type { SuspectedParty } from "../../chain/suspensions.ts";
import { encodeBalanceOfCall, transferTopic } from "../../chain/token.ts";
import { channelsAddress, encodeDeposit, encodeSettle } from "#x402/batch-settlement/channel.ts";
import { encodeInteger, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { buildChannelConfig, sampleAttempt, sampleMs, sampleSettlement } from "../../testing/sample-settlement.ts";
import { readGasLimit } from "../../chain/transaction-signer.ts";
import { createInFlightSettlements, type Attempt } from "../settlement.ts";
import { createNonceAllocator } from "../submit/sign-batch.ts";
import type { SettlementContext } from "../context.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createTracker } from "./tracker.ts";

const pollEveryMs = 500;
const options = { confirmations: 1, bumpAfterMs: 15_000, bumpPercent: 25, maxFeePerGasGwei: 1 };

const gas = createGasLimits(
  { gasLimit: 200_000, gasMarginPercent: 20, entriesMax: 10 },
  { signer: sampleAttempt.signer, monotonicMs: () => 0 },
);

const openNonces = (accounts: readonly Hex[] = [sampleAttempt.signer]) =>
  new Map(accounts.map((account) => [account, createNonceAllocator()]));

/** Longer than any of these checks takes. */
const settlement = { ...sampleSettlement, validBefore: sampleSettlement.validBefore + 3_600n };

/** The node's view: the payer still has enough, and the token accepts its payment again. */
const idle = {
  balance: 10n ** 18n,
  accepts: true,
  code: "0x" as Hex,
  sentBy: (_block: number): number => 3,
  /** Authorization nonces used by a block. */
  isUsedBy: (_block: number): boolean => false,
  /** Blocks in which the token logged something about the payer. */
  logged: [] as readonly number[],
};

/** A settlement with these transactions (by default one whose nonce is used); it can't be signed again. */
function startTracking({
  attempts = [sampleAttempt],
  others: otherAttempts = [] as readonly (readonly Attempt[])[],
  pending = 6,
  receipt = undefined as Receipt | undefined,
  countAtHead = (latestNonce: number, _block: number) => latestNonce,
  confirmations = 1,
  tracked = settlement,
  payer = { ...idle, balance: 0n, accepts: false },
  accounts = [sampleAttempt.signer] as readonly Hex[],
} = {}) {
  const state = {
    nowMs: sampleMs,
    nextNonce: 6,
    submits: [] as number[],
    /** Nonces of the newest transactions of the settlements to be signed again. */
    moved: [] as (number | undefined)[],
    lines: [] as string[],
    ends: [] as Hex[],
    replaces: [] as (readonly [number, number | undefined])[],
    sent: [] as Hex[],
    culprits: [] as string[],
  };
  const book = createInFlightSettlements({ clock: () => sampleMs, monotonicMs: () => sampleMs });
  const entry = book.add(tracked, attempts);
  for (const [index, entryAttempts] of otherAttempts.entries()) {
    const digit = String(index + 1);
    const authorizationNonce: Hex = `0x${digit.repeat(64)}`;
    book.add({ ...tracked, id: authorizationNonce, authorizationNonce }, entryAttempts);
  }
  const chain = {
    head: async () => ({ number: 100, timestamp: Math.floor(state.nowMs / 1_000), baseFeePerGas: 1n }),
    transactionCount: async (account: Hex, block: unknown) => {
      if (account === settlement.payer) return payer.sentBy(Number(block));
      return typeof block === "number"
        ? countAtHead(state.nextNonce, block)
        : block === "pending"
          ? pending
          : state.nextNonce;
    },
    receipt: async (hash: Hex) => (hash === receipt?.transactionHash ? receipt : undefined),
    code: async () => payer.code,
    estimateGas: async () =>
      payer.accepts ? { ok: true, result: "0xfde8" } : { ok: false, error: { code: 3, message: "execution reverted" } },
    read: async ({ data }: { data: Hex }, block = 100) =>
      `0x${encodeInteger(data === encodeBalanceOfCall(settlement.payer) ? payer.balance : payer.isUsedBy(block) ? 1n : 0n)}`,
    recentLogs: async (_: Hex, topics: readonly unknown[], head: number, from = 0) =>
      payer.logged
        .filter((block) => topics[0] === null && block >= from && block <= head)
        .map(() => ({ address: settlement.asset, topics: [], data: "0x", transactionHash: "0xff" })),
    send: async (rawTransaction: Hex) => {
      state.sent.push(rawTransaction);
      return { kind: "accepted" };
    },
  } as unknown as Chain;
  const context = {
    settlement: { ...options, confirmations },
    chain,
    gas,
    suspensions: { add: ({ kind }: SuspectedParty) => void state.culprits.push(kind), end: () => undefined },
    monotonicMs: () => state.nowMs,
    log: pino({ level: "info" }, { write: (line: string) => void state.lines.push(line) }),
  } as unknown as SettlementContext;
  const finish = async (endedById: ReadonlyMap<Hex, unknown>) => void state.ends.push(...endedById.keys());
  const nonces = openNonces(accounts);
  const track = createTracker(context, {
    book,
    ledger: { finish } as unknown as Ledger,
    recordUses: () => undefined,
    queues: {
      nonces,
      submit: (entries) => {
        state.submits.push(state.nowMs - sampleMs);
        state.moved.push(entries[0]?.attempts.at(-1)?.nonce);
      },
      replace: (_, nonce) => void state.replaces.push([state.nowMs - sampleMs, nonce]),
    },
  });
  const pollFor = async (durationMs: number) => {
    for (const until = state.nowMs + durationMs; state.nowMs < until; state.nowMs += pollEveryMs) await track();
  };
  return { state, entry, nonces, pollFor };
}

test("diagnoses a lost transaction with a growing backoff, and logs it once", async () => {
  const { state, pollFor } = startTracking();
  await pollFor(180_000);
  expect(state.submits).toEqual([3_000, 4_000, 6_000, 10_000, 18_000, 34_000, 64_000, 94_000, 124_000, 154_000]);
  expect(state.lines).toHaveLength(1);
  expect(state.lines[0]).toContain("checking the outcome of a settlement");
});

test("fills the second account's nonce gap", async () => {
  const accounts = [`0x${"52".repeat(20)}`, sampleAttempt.signer] as const;
  const { state, pollFor } = startTracking({ attempts: [{ ...sampleAttempt, nonce: 7 }], accounts });
  await pollFor(2_000);
  expect(state.submits).toEqual([1_000]);
});

const transfer = {
  address: settlement.asset,
  topics: [transferTopic, ...[settlement.payer, settlement.payTo].map(encodeAddressTopic)],
  data: `0x${encodeInteger(settlement.amount)}` as Hex,
};

const signAt = (nonce: number): Attempt => ({
  ...sampleAttempt,
  nonce,
  hash: `0x${String(nonce).repeat(64).slice(0, 64)}`,
  rawTransaction: `0x${String(nonce).padStart(2, "0")}`,
});

test.each([
  ["with the highest nonce's settlement, and resends the others", [7, 8, 40], { moved: [40], to: [6], resent: [7, 8] }],
  ["of three nonces with three settlements", [9, 10, 11, 12], { moved: [10, 11, 12], to: [6, 7, 8], resent: [9] }],
  ["far below all transactions with all settlements", [60, 61], { moved: [60, 61], to: [6, 7], resent: [] }],
])("fills a gap %s", async (_, [first = 0, ...later], { moved, to, resent }) => {
  const others = later.map((nonce) => [signAt(nonce)]);
  const { state, nonces, pollFor } = startTracking({ attempts: [signAt(first)], others });
  await pollFor(1_000);
  state.sent.length = 0;
  await pollFor(2 * pollEveryMs);
  expect(state.moved).toEqual(moved);
  expect(state.sent).toEqual(resent.map((nonce) => signAt(nonce).rawTransaction));
  expect(moved.map(() => nonces.get(sampleAttempt.signer)?.acquire())).toEqual(to);
});

test("keeps a mined settlement that waits for its confirmations out of a gap", async () => {
  const receipt = { status: 1, blockNumber: 101, transactionHash: sampleAttempt.hash, gasUsed: 1n, logs: [transfer] };
  const { state, pollFor } = startTracking({ receipt, others: [[signAt(7)]] });
  await pollFor(1_500);
  expect(state.moved).toEqual([7]);
});

test.each([
  ["fails a settlement after one of its transactions reverted", 1n, { ends: [settlement.id], isResigned: false }],
  ["signs a settlement again after one of its transactions ran out of gas", 78_000n, { ends: [], isResigned: true }],
])("%s, but only once the other can't be mined", async (_, gasUsed, { ends, isResigned }) => {
  const [revertedAttempt, later] = [sampleAttempt, { ...sampleAttempt, hash: `0x${"bb".repeat(32)}` as Hex, nonce: 6 }];
  const receipt = { status: 0, blockNumber: 90, transactionHash: revertedAttempt.hash, gasUsed, logs: [] };
  let isBehind = true;
  const countAtHead = (latestNonce: number) => (isBehind ? latestNonce - 1 : latestNonce);
  const { state, pollFor } = startTracking({ attempts: [revertedAttempt, later], receipt, countAtHead, payer: idle });
  state.nextNonce = 7;
  await pollFor(10_000);
  expect([state.ends, state.submits]).toEqual([[], []]);
  isBehind = false;
  await pollFor(10_000);
  expect(state.ends).toEqual(ends);
  expect(state.submits.length > 0).toBe(isResigned);
});

test("does not sign a settlement again if its nonce was used only in blocks that a reorg may replace", async () => {
  const confirmations = 4;
  const countAtHead = (nonce: number, block: number) => (block > 100 - confirmations + 1 ? nonce : nonce - 1);
  const { state, pollFor } = startTracking({ confirmations, countAtHead });
  await pollFor(10_000);
  expect([state.ends, state.submits]).toEqual([[], []]);
});

const config = buildChannelConfig(settlement);
const by = { collector: "erc3009Collector", validAfter: 0n, validBefore: 1n, salt: 0n, signature: "0x" } as const;

test.each([
  ["the token if it reverts", 0, {}, "token"],
  ["the token if it moves nothing", 1, {}, "token"],
  ["the payer if its balance is too low", 0, { balance: 0n }, "payer"],
  ["the payer if the token would now reject the payment", 0, { accepts: false }, "payer"],
  ["the payer if it moved its balance in that block", 0, { logged: [90] }, "payer"],
  ["the payer if it has moved its balance back since", 1, { logged: [95] }, "payer"],
  ["the token if the payer's balance moved only before that block", 0, { logged: [89] }, "token"],
  [
    "the payer if it has sent a transaction since, for example to end a delegation",
    0,
    { sentBy: (block: number) => block },
    "payer",
  ],
  ["the payer if its authorization was used before", 1, { isUsedBy: (block: number) => block < 90 }, "payer"],
  ["a contract wallet", 0, { code: "0x60" as Hex }, "wallet"],
  [
    "the payer if the node has pruned that block",
    0,
    {
      sentBy: (): number => {
        throw new ChainError("rejected", "missing trie node");
      },
    },
    "payer",
  ],
])("suspends %s after a failed transaction", async (_, status, changes, culprit) => {
  const receipt = { status, blockNumber: 90, transactionHash: sampleAttempt.hash, gasUsed: 1n, logs: [] };
  const { state, pollFor } = startTracking({ receipt, payer: { ...idle, ...changes } });
  await pollFor(2_000);
  expect(state.ends).toEqual([settlement.id]);
  expect(state.culprits).toEqual([culprit]);
});

test.each([
  [
    "no party for a channel settlement that a third party submitted first",
    { ...settlement, contract: channelsAddress, callData: encodeSettle(settlement.payTo, settlement.asset) },
    1,
    [],
  ],
  [
    "the payer of a failed deposit",
    { ...settlement, contract: channelsAddress, callData: encodeDeposit(config, settlement.amount, by) },
    0,
    ["payer"],
  ],
  [
    "no party if the authorization may expire with the next block",
    { ...sampleSettlement, validBefore: BigInt(Math.floor(sampleMs / 1_000)) + 10n },
    0,
    [],
  ],
  [
    "a wallet that rejected an authorization before its expiry",
    { ...sampleSettlement, validBefore: BigInt(Math.floor(sampleMs / 1_000)) + 10n },
    0,
    ["wallet"],
    { ...idle, code: "0x60" as Hex },
  ],
  [
    "no wallet if the authorization had expired in that block",
    { ...sampleSettlement, validBefore: BigInt(Math.floor(sampleMs / 1_000)) - 10n },
    0,
    [],
    { ...idle, code: "0x60" as Hex },
  ],
])("suspends %s after a transaction without a transfer", async (_, tracked, status, culprits, payer = undefined) => {
  const receipt = { status, blockNumber: 90, transactionHash: sampleAttempt.hash, gasUsed: 1n, logs: [] };
  const { state, pollFor } = startTracking({ tracked, receipt, ...(payer && { payer }) });
  await pollFor(2_000);
  expect(state.ends).toEqual([settlement.id]);
  expect(state.culprits).toEqual(culprits);
});

test("replaces an expired settlement's underpriced transaction with the next settlement's", async () => {
  const { state, pollFor: lookFor } = startTracking({ attempts: [{ ...sampleAttempt, nonce: 7 }], pending: 8 });
  await lookFor(2 * options.bumpAfterMs + pollEveryMs);
  expect(state.submits).toEqual([]);
  expect(state.replaces).toEqual([
    [options.bumpAfterMs, 6],
    [2 * options.bumpAfterMs, 6],
  ]);
});

test("fills a gap with a settlement whose mined transaction ran out of gas, with the max gas", async () => {
  const gasUsed = readGasLimit(sampleAttempt.rawTransaction);
  const receipt = { status: 0, blockNumber: 90, transactionHash: sampleAttempt.hash, gasUsed, logs: [] };
  const open = { ...sampleAttempt, hash: `0x${"bb".repeat(32)}` as Hex, nonce: 7 };
  const {
    state,
    entry,
    pollFor: lookFor,
  } = startTracking({
    attempts: [open, sampleAttempt],
    receipt,
    pending: 8,
    payer: idle,
  });
  await lookFor(options.bumpAfterMs + pollEveryMs);
  expect(state.replaces).toEqual([[options.bumpAfterMs, 6]]);
  expect(entry.lackedGas).toBe(true);
});

test("resends no transaction that would fail after a newer one with a lower nonce", async () => {
  const previous = {
    ...sampleAttempt,
    hash: `0x${"bb".repeat(32)}` as Hex,
    nonce: 7,
    rawTransaction: "0x07" as Hex,
  };
  const filler = { ...sampleAttempt, nonce: 6, rawTransaction: "0x06" as Hex };
  const { state, pollFor: lookFor } = startTracking({ attempts: [previous, filler], pending: 8 });
  await lookFor(pollEveryMs);
  expect(state.sent).toEqual(["0x06"]);
});

test("logs a transaction that is lost again, and diagnoses it immediately", async () => {
  const { state, entry, pollFor: lookFor } = startTracking();
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

test("rejects a poll with the ledger's error, without an unhandled rejection from the node", async () => {
  const unheard: unknown[] = [];
  const onUnheard = (error: unknown) => void unheard.push(error);
  process.on("unhandledRejection", onUnheard);
  const [book, nodeError] = [
    createInFlightSettlements({ clock: Date.now, monotonicMs: () => sampleMs }),
    Promise.withResolvers<never>(),
  ];
  const [settledId, missingId] = [`0x${"aa".repeat(32)}`, `0x${"bb".repeat(32)}`] as const;
  book.add(settlement, [{ ...sampleAttempt, hash: settledId, nonce: 5 }]);
  const anotherSettlement = { id: `0x${"2e".repeat(32)}`, authorizationNonce: `0x${"0d".repeat(32)}` } as const;
  book.add({ ...settlement, ...anotherSettlement }, [{ ...sampleAttempt, hash: missingId, nonce: 6 }]);
  const receipt = { status: 1, blockNumber: 90, transactionHash: settledId, gasUsed: 65_000n, logs: [transfer] };
  const chain = {
    head: async () => ({ number: 100, timestamp: Math.floor(sampleMs / 1_000), baseFeePerGas: 1n }),
    transactionCount: async () => 6,
    receipt: async (hash: string) => (hash === settledId ? receipt : undefined),
    send: () => nodeError.promise,
  } as unknown as Chain;
  const context = { settlement: options, chain, gas, monotonicMs: () => sampleMs, log: pino({ level: "silent" }) };
  const track = createTracker(context as unknown as SettlementContext, {
    book,
    ledger: { finish: () => Promise.reject(new Error("no ledger")) } as unknown as Ledger,
    recordUses: () => undefined,
    queues: { nonces: openNonces(), submit: () => undefined, replace: () => undefined },
  });
  const tracking = expect(track()).rejects.toThrow("no ledger");
  await new Promise(setImmediate);
  nodeError.reject(new Error("no node"));
  await tracking;
  await new Promise(setImmediate);
  process.off("unhandledRejection", onUnheard);
  expect(unheard).toEqual([]);
});
