import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import type { Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import type { Chain } from "./chain.ts";
import { startChainWatch } from "./chain-watch.ts";
import { createSignerWatch } from "./signer-watch.ts";
import { createTransactionSigner } from "./transaction-signer.ts";

const token: Hex = `0x${"02".repeat(20)}`;
const separator: Hex = `0x${"ab".repeat(32)}`;
const options = {
  chainId: 1_672,
  rpcUrl: "http://node.example:18100",
  assets: [{ address: token, name: "USDC", version: "2", separator }],
  walletFactories: [],
} as const;
const nowMs = 1_800_000_000_000;

const account: Hex = `0x${"01".repeat(20)}`;
const signature = { compact: new Uint8Array(64), yParity: 0 };
const quote = async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });

/**
 * A node that the watch queries: `has` is what the token contract returns, `ageMs` the age of the newest block. The process's clock is
 * ahead of the real time by `clockAheadMs`.
 */
function createNode() {
  const node = {
    isSyncing: false,
    ageMs: 1_000,
    has: "0x" as Hex,
    balance: 10n ** 18n,
    nowMs: 0,
    passedMs: 0,
    clockAheadMs: 0,
    heads: 0,
  };
  const chain = {
    id: async () => 1_672,
    syncing: async () => node.isSyncing,
    code: async () => "0x" as const,
    head: async () => {
      node.heads += 1;
      return { number: 7, timestamp: (nowMs + node.passedMs - node.ageMs) / 1_000 };
    },
    balance: async () => node.balance,
    simulate: async () => ({ ok: true, result: node.has }) as const,
  } satisfies Partial<Chain> as unknown as Chain;
  const warnings: unknown[] = [];
  const note = (facts: unknown) => warnings.push(facts);
  const log = { info: note, warn: note, error: note };
  const dependencies = { chain, log: log as never };
  const signers = createSignerWatch(
    { chainId: 1_672, gasLimit: 150_000 },
    { signers: [createTransactionSigner({ address: account, signDigest: () => signature })], ...dependencies },
  );
  const start = (waits: Readonly<{ pause?: Pause }> = {}) =>
    startChainWatch(options, {
      ...dependencies,
      ...waits,
      fees: { quote },
      signers,
      clock: () => nowMs + node.passedMs + node.clockAheadMs,
      monotonicMs: () => node.nowMs,
    });
  return { node, start, warnings, signers };
}

describe("a token missing from the node", () => {
  it.each([
    ["is syncing", { isSyncing: true }, /^the node is syncing; until it catches up, there is no token/],
    ["has only old blocks", { ageMs: 600_000 }, /^the node's newest block is more than 120 s old; until/],
  ])("does not abort the start while the node %s, and is found once the node caught up", async (_, behind, reason) => {
    const { node, start, warnings } = createNode();
    Object.assign(node, behind);
    await using watch = await start();
    const chain = watch.chainCheck();
    expect(chain).toEqual({ ok: false, message: expect.stringMatching(reason) });
    expect(chain.message).toContain(`there is no token at ${token} on chain 1672`);
    expect(warnings).toHaveLength(1);
    expect(watch.contracts(), "which may exist there, too").toBeUndefined();
    Object.assign(node, { isSyncing: false, ageMs: 1_000, has: separator });
    await until("the token is found", generousMs, () => watch.chainCheck().ok);
    expect(watch.contracts()).toEqual(new Set());
  });

  it("aborts the start if the node is in sync", async () => {
    await expect(createNode().start()).rejects.toThrow(`no token at ${token} on chain 1672; correct assets.`);
  });
});

/** Checks again at once, after other tasks. */
const skipWait: Pause = () => setImmediate();

it.each([
  ["behind", -1_200_000, /^the facilitator's clock is 11\d\d s behind .* not yet valid; .*timedatectl/],
  ["ahead", 1_200_000, /^the facilitator's clock is 1\d{3} s ahead .* expired; .*timedatectl/],
])("reports a clock that is %s, until it is corrected", async (_, clockAheadMs, message) => {
  const { node, start, warnings } = createNode();
  Object.assign(node, { has: separator, clockAheadMs });
  await using watch = await start({ pause: skipWait });
  node.passedMs += 2_000;
  await until("it is noticed", generousMs, () => !watch.chainCheck().ok);
  expect(watch.chainCheck().message).toMatch(message);
  node.clockAheadMs = 0;
  await until("it is corrected", generousMs, () => watch.chainCheck().ok);
  const events = warnings.map((facts) => (facts as Readonly<{ event: string }>).event);
  expect(events, "each logged once").toEqual(["clock-wrong", "clock-corrected"]);
});

it.each([
  ["a chain that mines on demand", { ageMs: 600_000 }, 0],
  ["a node that catches up", { ageMs: 600_000, isSyncing: true }, 60_000],
])("does not judge the clock by old blocks of %s", async (_, old, passedMs) => {
  const { node, start, warnings } = createNode();
  Object.assign(node, { has: separator, ...old });
  await using watch = await start({ pause: skipWait });
  node.passedMs += passedMs;
  const { heads } = node;
  await until("it was checked again", generousMs, () => node.heads >= heads + 5);
  expect([watch.chainCheck().ok, warnings]).toEqual([true, []]);
});

it("starts when a signer has no gas, and reports how much to send it", async () => {
  const { node, start } = createNode();
  Object.assign(node, { has: separator, balance: 0n });
  await using watch = await start();
  expect(watch.signerCheck()).toEqual({
    ok: false,
    message: expect.stringMatching(
      /^the balance of 0x(01)+ for gas is 0 in native currency, but one settlement may cost 0\.00000000000015; send it 0\.000000000015 in .* for 100 settlements/,
    ),
  });
});

/** Waits until aborted. */
const waitUntilCut: Pause = (_, signal) =>
  new Promise((resolve) => void signal?.addEventListener("abort", () => resolve()));

it("checks the chain immediately when the last usable signer fails", async () => {
  const { node, start, signers } = createNode();
  Object.assign(node, { has: separator });
  await using watch = await start({ pause: waitUntilCut });
  signers.recordProblem(account, "the key does not sign");
  expect(watch.signerCheck()).toEqual({ ok: false, message: `${account}: the key does not sign` });
  await until("the key was tried again", generousMs, () => watch.signerCheck().ok);
});

it("fails both checks once their last success is older than two and a half intervals", async () => {
  const { node, start } = createNode();
  Object.assign(node, { has: separator });
  await using watch = await start({ pause: waitUntilCut });
  node.nowMs = 25_000;
  expect({ chain: watch.chainCheck(), signer: watch.signerCheck() }).toMatchObject({
    chain: { ok: true },
    signer: { ok: true },
  });
  node.nowMs = 31_000;
  const message = /^the last successful check is 31 s old: /;
  expect({ chain: watch.chainCheck(), signer: watch.signerCheck() }).toEqual({
    chain: { ok: false, message: expect.stringMatching(message) },
    signer: { ok: false, message: expect.stringMatching(message) },
  });
});
