import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import type { DepositKey, SignedPayment } from "#x402/signed-payment.ts";
import { OverloadError } from "./callers/caller.ts";
import type { NetworkSeller } from "./network-options.ts";
import { createSellerLimits } from "./seller-limits.ts";
import type { Sales } from "./settlement/ledger/sales.ts";
import { createTransfers, type TransferDependencies } from "./transfers.ts";

const address = `0x${"0a".repeat(20)}` as const;
const deposit: DepositKey = { asset: address, payTo: address, payer: address, callStart: "0x" };
const claim: SignedPayment = {
  id: "0x11",
  asset: address,
  payer: address,
  payTo: address,
  amount: 5n,
  contract: address,
  authorization: { validAfter: 0n, validBefore: 2n ** 40n, nonce: "0x01" },
  callData: "0x22",
  deposits: [deposit],
};

/** Opens the transfers of seller alice with these limits on the network; undefined if she may not use it. */
function openTransfers(
  alice: NetworkSeller | undefined,
  { hasDeposit = true, spent = 0n, settled = Promise.resolve({ state: "pending", transaction: "0x44" }) } = {},
) {
  const dailyGas = async () => [{ spent, dearest: spent, forgottenMs: 60_000 }];
  const sales = { dailyGas, isConflict: async () => false, add: async () => true } as Partial<Sales> as Sales;
  const dependencies = {
    engine: { progress: async () => undefined, settle: () => settled },
    sellers: createSellerLimits(
      { network: "eip155:1", sellers: new Map([["alice", alice]]) },
      { sales, clock: () => 0, settlementCost: () => 1n },
    ),
    hasDeposit: async () => hasDeposit,
    contracts: () => undefined,
    releaseReservation: () => undefined,
    recent: { forgetPayer: () => undefined },
    log: createLog({ service: "facilitator", level: "silent" }),
  };
  const options = { network: "eip155:1", assets: new Map(), signers: new Set<string>(), payees: new Set<string>() };
  return createTransfers(
    { ...options, minAmount: () => 1n },
    dependencies as unknown as TransferDependencies,
  )({
    kind: "sale",
    owner: "a sale",
    seller: "alice",
  });
}

const terms = { asset: address, payTo: address };

test("settles claims of recorded deposits after the network was removed from the seller", async () => {
  expect(await openTransfers(undefined).settle(claim)).toMatchObject({ result: { state: "pending" } });
  const rejection = { reason: "invalid_network" };
  expect(await openTransfers(undefined, { hasDeposit: false }).settle(claim)).toMatchObject({ result: { rejection } });
  expect(await openTransfers(undefined).rejectTerms(terms), "a new voucher").toMatchObject(rejection);
});

test("rejects vouchers, like claims, of a seller that reached gasPerDay", async () => {
  const alice = { name: "alice", gasPerDay: 1e-18 };
  expect(await openTransfers(alice).rejectTerms(terms)).toBeUndefined();
  const limitedTransfers = openTransfers(alice, { spent: 1n });
  await expect(limitedTransfers.rejectTerms(terms)).rejects.toThrow(OverloadError);
  await expect(limitedTransfers.settle(claim)).rejects.toThrow(/gasPerDay of alice/);
});

test("counts a settlement in flight as the day's most expensive one, and reports when gas is available again", async () => {
  const { promise: settled, resolve } = Promise.withResolvers<{ state: string; transaction: string }>();
  const alice = openTransfers({ name: "alice", gasPerDay: 3e-18 }, { spent: 2n, settled });
  expect(await alice.rejectTerms(terms)).toBeUndefined();
  const settling = alice.settle(claim);
  const retrySeconds = () => alice.rejectTerms(terms).then(String, (error: OverloadError) => error.retrySeconds);
  await expect.poll(retrySeconds).toBe(60);
  resolve({ state: "pending", transaction: "0x44" });
  await settling;
  expect(await alice.rejectTerms(terms)).toBeUndefined();
});

test("applies the seller's minAmount to a claim, unless it empties its channels", async () => {
  const alice = { name: "alice", assets: [{ address, minAmount: 6 }] };
  const remainder = { ...claim, isRemainder: true };
  const rejectedTerms = { result: { rejection: { reason: "invalid_payment_requirements" } } };
  expect(await openTransfers(alice).settle(claim)).toMatchObject(rejectedTerms);
  expect(await openTransfers(alice).settle(remainder)).toMatchObject({ result: { state: "pending" } });
  expect(await openTransfers(alice, { hasDeposit: false }).settle(remainder), "deposited elsewhere").toMatchObject(
    rejectedTerms,
  );
});

test("rejects an amount below a seller's minimum although the signed maximum is larger", async () => {
  const alice = openTransfers({ name: "alice", assets: [{ address, minAmount: 500 }] });
  const settle = (amount: bigint) => alice.settle({ ...claim, amount, max: 1_000n });
  expect(await settle(499n)).toMatchObject({
    result: {
      rejection: {
        reason: "invalid_payment_requirements",
        message: expect.stringMatching(/has minAmount 500 .*; charge more, or 0, which settles nothing\.$/),
      },
    },
  });
  expect(await settle(500n)).toMatchObject({ result: { state: "pending" } });
});
