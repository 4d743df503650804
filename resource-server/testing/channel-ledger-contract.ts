import { expect, it } from "vitest";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { openTestChannels } from "./claim-store.ts";
import { config, id as channelId } from "./sample-channel.ts";

const channel = { id: channelId, network: "eip155:1672" as const, config };
const state = { balance: 2n ** 100n, totalClaimed: 50n, withdrawRequestedAt: 0, refundNonce: 2n ** 70n };
const signature: Hex = `0x${"22".repeat(65)}`;

/** Defines the tests that every ledger of channels must pass, whatever its storage; `open` returns an empty store. */
export function testChannelLedger(open: () => Promise<SqlStore>): void {
  it("charges a channel once per total, and deletes it once its claim is settled", async () => {
    let nowMs = 1_000;
    await using ledger = openTestChannels(() => nowMs, { store: await open() });
    expect(await ledger.find(channel.id)).toBeUndefined();
    expect(await ledger.observe(channel, state)).toMatchObject({ ...channel, charged: 50n, voucher: undefined, state });
    const charge = { before: 50n, amount: 10n, max: 75n, signature };
    const charges = await Promise.all(Array.from({ length: 3 }, () => ledger.charge(channel.id, charge)));
    expect(charges.filter(Boolean)).toHaveLength(1);
    expect(await ledger.find(channel.id)).toMatchObject({
      charged: 60n,
      voucher: { max: 75n, signature },
      owedSinceMs: 1_000,
    });
    const newer = { ...state, balance: 2n ** 101n };
    expect(await ledger.observe(channel, newer), "the chain's total differs from the charged one").toMatchObject({
      charged: 60n,
      state: newer,
    });
    await ledger.beginRefund(channel.id, { sale: "r", payload: { amount: "1" } });
    nowMs = 2_000;
    await ledger.claimed(channel.id, 60n, nowMs);
    expect(await ledger.owed(10)).toMatchObject([
      { refund: { sale: "r", payload: { amount: "1" } }, owedSinceMs: 2_000 },
    ]);
    expect(await ledger.forget(nowMs)).toBe(0);
    await ledger.settled([channel.id], nowMs);
    expect(await ledger.owed(10)).toEqual([]);
    expect([await ledger.forget(1_000), await ledger.forget(nowMs)]).toEqual([0, 1]);
  });

  it("counts a larger total claimed on the chain as charged, without a voucher", async () => {
    await using ledger = openTestChannels(() => 1_000, { store: await open() });
    await ledger.observe(channel, state);
    await ledger.charge(channel.id, { before: 50n, amount: 10n, max: 60n, signature });
    const observe = async (totalClaimed: bigint) => (await ledger.observe(channel, { ...state, totalClaimed })).charged;
    expect([await observe(9n), await observe(60n)]).toEqual([60n, 60n]);
    expect(await ledger.find(channel.id)).toMatchObject({ voucher: { max: 60n } });
    expect([await observe(61n), await observe(2n ** 90n), await observe(99n)]).toEqual([61n, 2n ** 90n, 2n ** 90n]);
    expect(await ledger.find(channel.id)).toMatchObject({ voucher: undefined });
  });

  it("lists owed channels in pages, and channels with a withdrawal request", async () => {
    let nowMs = 1_000;
    await using ledger = openTestChannels(() => nowMs, { store: await open() });
    const ids = ["a1", "a2", "a3", "a4"].map((digits): Hex => `0x${digits.repeat(32)}`);
    for (const [index, id] of ids.entries()) {
      await ledger.observe({ ...channel, id }, { ...state, withdrawRequestedAt: index === 2 ? 7 : 0 });
      nowMs = index < 2 ? 1_000 : 2_000;
      await ledger.charge(id, { before: 50n, amount: 10n, max: 75n, signature });
    }
    const list = async (...page: Parameters<typeof ledger.owed>) => (await ledger.owed(...page)).map(({ id }) => id);
    const [secondChannel] = (await ledger.owed(2)).slice(-1);
    expect(await list(2)).toEqual(ids.slice(0, 2));
    expect(await list(2, { after: secondChannel })).toEqual(ids.slice(2));
    expect(await list(9, { before: 2_000 })).toEqual(ids.slice(0, 2));
    expect((await ledger.withdrawing(9)).map(({ id }) => id)).toEqual([ids[2]]);
    expect(await ledger.count()).toBe(4);
    await ledger.postpone(ids[0] ?? "0x", { isRejected: false });
    await ledger.postpone(ids[0] ?? "0x", { isRejected: true });
    const postponedClaim = { rejectedClaims: 2, isRejected: true, owedSinceMs: 2_000 };
    expect(await ledger.find(ids[0] ?? "0x")).toMatchObject(postponedClaim);
    await ledger.claimed(ids[0] ?? "0x", 60n, 3_000);
    expect(await ledger.find(ids[0] ?? "0x")).toMatchObject({ rejectedClaims: 0, isRejected: false });
  });
}
