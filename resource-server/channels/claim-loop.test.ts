import { pino } from "pino";
import { Registry } from "prom-client";
import { recoverAddress } from "viem";
import { expect, test } from "vitest";
import type { SettleResponse } from "@x402/core/types";
import { Secret } from "#daemon/secrets/secret.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { computeChannelId, computeClaimsDigest } from "#x402/batch-settlement/channel.ts";
import { channelPayload, type ChannelConfig } from "#x402/batch-settlement/payload.ts";
import type { Hex } from "#x402/hex.ts";
import { sqliteClaimMigrations } from "../claims/claim-schema.ts";
import type { Facilitation } from "../facilitators/facilitation.ts";
import { createChannelAuthorizer } from "./channel-authorizer.ts";
import type { ChannelLedger } from "../claims/channel-ledger.ts";
import { testChannelLedger } from "../testing/channel-ledger-contract.ts";
import { openTestChannels } from "../testing/claim-store.ts";
import { authorizer, config as sample } from "../testing/sample-channel.ts";
import { createChannelMetrics } from "./channel-metrics.ts";
import { claimChannels } from "./claim-loop.ts";
import { requireKeys } from "./open-channels.ts";

const network = "eip155:1672";
const address = (digits: string): Hex => `0x${digits.repeat(20)}`;
const signature: Hex = `0x${"22".repeat(65)}`;
const options = { intervalMs: 1, claimWithinMs: 0, nodeLagMs: 0, retentionMs: 1_000_000 };

/** Terms of a channel with any payee; each has its own salt. */
const terms: ChannelConfig = { ...sample, receiver: address("ee"), salt: `0x${"77".repeat(32)}` };

/** Opens a channel that was charged 100 by a voucher for 150, and returns its id. */
async function openChannel(ledger: ChannelLedger, changes: Partial<ChannelConfig> = {}): Promise<Hex> {
  const config = { ...terms, ...changes };
  const id = computeChannelId(config, 1672);
  const state = { balance: 1_000n, totalClaimed: 0n, withdrawRequestedAt: 0, refundNonce: 0n };
  await ledger.observe({ id, network, config }, state);
  expect(await ledger.charge(id, { before: 0n, amount: 100n, max: 150n, signature })).toBe(true);
  return id;
}

/** Opens channels of two payees in turn, and returns their ids. */
async function openChannels(
  ledger: ChannelLedger,
  count: number,
  payerAuthorizer = address("aa"),
): Promise<readonly Hex[]> {
  const ids: Hex[] = [];
  for (let index = 0; index < count; index += 1) {
    const salt: Hex = `0x${index.toString(16).padStart(64, "0")}`;
    const receiver = address(index % 2 === 0 ? "bb" : "cc");
    ids.push(await openChannel(ledger, { payerAuthorizer, receiver, salt }));
  }
  return ids;
}

const answer = (success: boolean, errorReason?: string): SettleResponse => ({
  success,
  transaction: "0x",
  network,
  ...(errorReason !== undefined && { errorReason }),
});

/** A chain that claims and settles like the contract: totals only rise, and a claimed amount is transferred once. */
function createChain(poisoned?: Hex) {
  const claimed = new Map<Hex, bigint>();
  const payees = new Map<Hex, { claimed: bigint; moved: bigint }>();
  const calls: string[] = [];
  const settle: Facilitation["settle"] = async ({ sent }) => {
    const payment = channelPayload.parse(sent.payload);
    if (payment.type === "claim") {
      const rows = payment.claims.map((claim) => ({ claim, id: computeChannelId(claim.voucher.channel, 1672) }));
      calls.push(`claim ${rows.length}`);
      if (rows.some(({ id }) => id === poisoned))
        return answer(false, "invalid_batch_settlement_evm_claim_simulation_failed");
      for (const { id, claim } of rows) {
        expect(claim.totalClaimed).toBeLessThanOrEqual(claim.voucher.maxClaimableAmount);
        const { receiver } = claim.voucher.channel;
        const payee = payees.get(receiver) ?? { claimed: 0n, moved: 0n };
        const before = claimed.get(id) ?? 0n;
        if (claim.totalClaimed > before) payee.claimed += claim.totalClaimed - before;
        claimed.set(id, claim.totalClaimed > before ? claim.totalClaimed : before);
        payees.set(receiver, payee);
      }
      return answer(true);
    }
    if (payment.type !== "settle") throw new TypeError(`unexpected ${payment.type}`);
    calls.push("settle");
    const payee = payees.get(payment.receiver) ?? { claimed: 0n, moved: 0n };
    if (payee.claimed === payee.moved) return answer(false, "invalid_batch_settlement_evm_nothing_to_settle");
    payee.moved = payee.claimed;
    return answer(true);
  };
  const moved = () => [...payees.values()].reduce((sum, payee) => sum + payee.moved, 0n);
  return { settle, calls, claimed, moved };
}

const log = pino({ level: "silent" });
const metrics = createChannelMetrics(new Registry());
/** Later than any charge. */
const clock = () => Date.now() + 60_000;
const common = { authorizer, clock, log, metrics };

/** Runs the loop until nothing is left to claim or transfer. */
async function claimAll(ledger: ChannelLedger, settle: Facilitation["settle"]): Promise<void> {
  await using _loop = claimChannels(options, { ...common, ledger, facilitation: { settle } });
  await expect.poll(() => ledger.owed(1), { interval: 2 }).toEqual([]);
}

testChannelLedger(async () =>
  openSqliteStore({ path: ":memory:", migrations: sqliteClaimMigrations, rival: "", setting: "" }),
);

test("reports no unclaimed amount after a round that claimed everything", async () => {
  await using ledger = openTestChannels();
  const registry = new Registry();
  const metered = { ...common, ledger, metrics: createChannelMetrics(registry), facilitation: createChain() };
  await openChannel(ledger);
  const unclaimed = registry.getSingleMetric("gatehouse_channels_unclaimed_units");
  metered.metrics.addUnclaimed({ network, config: terms }, 100n);
  await using _loop = claimChannels({ ...options, intervalMs: 3_600_000 }, metered);
  await expect
    .poll(async () => (await registry.getSingleMetric("gatehouse_channels")?.get())?.values[0]?.value)
    .toBe(1);
  expect((await unclaimed?.get())?.values.filter(({ value }) => value !== 0)).toEqual([]);
});

test("claims channels in batches by payee, and the remaining ones of a batch that the chain rejects", async () => {
  await using ledger = openTestChannels();
  const ids = await openChannels(ledger, 120);
  const poisoned = ids[7];
  const chain = createChain(poisoned);
  await using _loop = claimChannels(options, { ...common, ledger, facilitation: chain });
  await expect.poll(() => ledger.owed(1_000), { interval: 5 }).toMatchObject([{ id: poisoned }]);
  expect(chain.moved()).toBe(11_900n);
  expect(chain.calls.filter((call) => call === "claim 20")).toHaveLength(6);
});

test("claims all channels of a payee once one is due, and none of another payee", async () => {
  let nowMs = 1_000;
  await using ledger = openTestChannels(() => nowMs);
  await openChannel(ledger);
  nowMs = 1_900;
  await openChannel(ledger, { salt: `0x${"78".repeat(32)}` });
  const other = await openChannel(ledger, { receiver: address("bb") });
  nowMs = 2_000;
  const chain = createChain();
  const times = { ...options, claimWithinMs: 1_000 };
  await using _loop = claimChannels(times, { ...common, ledger, facilitation: chain, clock: () => nowMs });
  await expect.poll(() => ledger.owed(9), { interval: 2 }).toMatchObject([{ id: other }]);
  expect(chain.calls.slice(0, 2)).toEqual(["claim 2", "settle"]);
});

test("claims wallets' channels one by one after all others, and marks a rejected one", async () => {
  await using ledger = openTestChannels();
  const [poisoned] = await openChannels(ledger, 3, address("00"));
  await openChannels(ledger, 3);
  const chain = createChain(poisoned);
  await using loop = claimChannels(options, { ...common, ledger, facilitation: chain });
  await expect.poll(() => ledger.owed(9), { interval: 2 }).toMatchObject([{ id: poisoned, isRejected: true }]);
  await loop[Symbol.asyncDispose]();
  const claims = chain.calls.filter((call) => call !== "settle");
  expect(claims.slice(0, 2).toSorted()).toEqual(["claim 1", "claim 2"]);
  expect(claims.slice(2, 5)).toEqual(["claim 1", "claim 1", "claim 1"]);
  await claimAll(ledger, createChain().settle);
  expect(await ledger.find(poisoned ?? "0x")).toMatchObject({ isRejected: false });
});

test("settles a payee's claims even if settling fails for 1,001 channels of other payees", async () => {
  let nowMs = 0;
  await using ledger = openTestChannels(() => nowMs);
  for (const id of await openChannels(ledger, 1_001)) await ledger.claimed(id, 100n, nowMs);
  nowMs = 10;
  await openChannel(ledger);
  const chain = createChain();
  const settle: Facilitation["settle"] = async (payment, ...rest) =>
    payment.sent.payload["type"] === "settle" && payment.sent.payload["receiver"] !== address("ee")
      ? answer(false, "invalid_payment_requirements")
      : chain.settle(payment, ...rest);
  await using _loop = claimChannels(options, { ...common, ledger, facilitation: { settle } });
  await expect.poll(() => chain.moved(), { interval: 5 }).toBe(100n);
});

test("retries a claim rejected as too small in a single batch, with backoff", async () => {
  let nowMs = 1_000_000;
  await using ledger = openTestChannels(() => nowMs);
  const ids = await openChannels(ledger, 6);
  const attempts: number[] = [];
  const settle: Facilitation["settle"] = async () => {
    attempts.push(nowMs);
    return answer(false, "invalid_payment_requirements");
  };
  const pause = async (ms: number, signal?: AbortSignal) => {
    nowMs += ms;
    if (signal?.aborted !== true) await new Promise(setImmediate);
  };
  const waiting = { ...common, ledger, facilitation: { settle }, clock: () => nowMs, pause };
  await using loop = claimChannels({ ...options, intervalMs: 1_000, retentionMs: 1e12 }, waiting);
  await expect.poll(() => nowMs).toBeGreaterThan(1_900_000);
  await loop[Symbol.asyncDispose]();
  // The loop runs until its next poll detects the abort.
  const counted = attempts.filter((atMs) => atMs <= 1_900_000);
  expect(counted.length, "two payees, in 900 s").toBeLessThan(2 * 12);
  const [first = "0x"] = ids;
  expect(await ledger.find(first)).toMatchObject({ isRejected: false });
});

test.each(["invalid_batch_settlement_evm_nothing_to_settle", undefined])(
  "settles a claim again after the node's lag (first error: %s)",
  async (errorReason) => {
    let nowMs = 1_000_000;
    await using ledger = openTestChannels(() => nowMs);
    await openChannels(ledger, 1);
    const chain = createChain();
    const settle: Facilitation["settle"] = async (payment, ...rest) =>
      payment.sent.payload["type"] === "settle" && nowMs < 1_050_000
        ? answer(errorReason === undefined, errorReason)
        : chain.settle(payment, ...rest);
    const pause = async (ms: number) => {
      nowMs += ms;
      await new Promise(setImmediate);
    };
    const lagging = { ...common, ledger, facilitation: { settle }, clock: () => nowMs, pause };
    await using _loop = claimChannels({ ...options, intervalMs: 1_000, nodeLagMs: 60_000, retentionMs: 1e12 }, lagging);
    await expect.poll(() => ledger.owed(1), { interval: 2 }).toEqual([]);
    expect(chain.moved()).toBe(100n);
  },
);

test("signs a claim with its channel's key, and skips a channel with an unknown key", async () => {
  await using ledger = openTestChannels();
  const old = new Secret(`0x${"44".repeat(32)}`);
  const { address: oldAddress } = createChannelAuthorizer(old);
  const stranger = await openChannel(ledger, { receiverAuthorizer: address("99") });
  await openChannel(ledger, { receiverAuthorizer: oldAddress });
  await openChannel(ledger);
  const rotated = createChannelAuthorizer(new Secret(`0x${"11".repeat(32)}`), [old]);
  const chain = createChain();
  const settle: Facilitation["settle"] = async (payment, ...rest) => {
    const read = channelPayload.parse(payment.sent.payload);
    if (read.type === "claim") {
      const { receiverAuthorizer } = read.claims[0]?.voucher.channel ?? {};
      const hash: Hex = `0x${Buffer.from(computeClaimsDigest(read.claims, 1672)).toString("hex")}`;
      expect(await recoverAddress({ hash, signature: read.claimAuthorizerSignature ?? "0x" })).toBe(receiverAuthorizer);
    }
    return chain.settle(payment, ...rest);
  };
  await using _loop = claimChannels(options, { ...common, ledger, authorizer: rotated, facilitation: { settle } });
  await expect.poll(() => ledger.owed(9), { interval: 5 }).toMatchObject([{ id: stranger, rejectedClaims: 0 }]);
  expect(chain.moved()).toBe(200n);
  await expect(requireKeys(ledger, rotated)).rejects.toThrow(
    new RegExp(`only the key of ${address("99")} can claim.*Add that key after the new one`),
  );
});
