import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { channelsAddress, encodeClaims } from "#x402/batch-settlement/channel.ts";
import type { Rejection } from "#x402/reason.ts";
import { ChainError } from "./chain/chain-error.ts";
import { createTransfers, type TransferDependencies, type TransferOptions } from "./transfers.ts";
import { buildChannelConfig, sampleSettlement } from "./testing/sample-settlement.ts";
import { createMinAmounts } from "./network.ts";
import { rejectAmount } from "./seller-limits.ts";

const address = `0x${"0a".repeat(20)}` as const;
const token = { address, name: "USDC", version: "2" };
const minimum = (limits: object, cost = 10n ** 14n) =>
  createMinAmounts({ assets: [{ ...token, ...limits }] }, { settlementCost: () => cost })(`0x${"0A".repeat(20)}`);

test.each([
  ["the configured amount", { minAmount: 500, nativePrice: 420_000 }, 500n],
  ["a settlement's cost at the native currency's price", { nativePrice: 420_000 }, 43n],
  ["one unit by default", {}, 1n],
])("requires at least %s", (_, limits, least) => {
  expect(minimum(limits)).toBe(least);
  expect(rejectAmount({ amount: least }, least)).toBeUndefined();
  expect(rejectAmount({ amount: least - 1n }, least)?.reason).toBe("invalid_payment_requirements");
});

test("rejects a value of 0 before the settlement cost is known", () => {
  expect(rejectAmount({ amount: 0n }, minimum({ nativePrice: 1 }, 0n))).toBeDefined();
});

const authorization = { validAfter: 0n, validBefore: 2n ** 40n, nonce: "0x01" } as const;
const parties = { asset: address, payer: address, payTo: address, amount: 500n, contract: address } as const;
const signedByWallet = { id: "0x11", ...parties, authorization, callData: "0x22", walletSignature: "0x33" } as const;
const rejection = { reason: "invalid_exact_evm_signature", message: "the wallet rejects the signature" } as const;
const unreachableError = new ChainError("unreachable", "the node is not reached");

/** Creates transfers on behalf of a sale, on a chain that has settled nothing. */
function createSaleTransfers(
  engine: Partial<Record<keyof TransferDependencies["engine"], () => Promise<unknown>>>,
  {
    checkSigner,
    minAmount = 1n,
    isKnown = false,
  }: Readonly<{ checkSigner?: () => Promise<Rejection | undefined>; minAmount?: bigint; isKnown?: boolean }>,
) {
  const dependencies = {
    engine: { hasBegun: async () => false, progress: async () => undefined, ...engine },
    sellers: {
      rejectTerms: () => undefined,
      rejectAmount: () => undefined,
      rejectIdentifier: async () => undefined,
      rejectGas: async () => undefined,
      record: async () => undefined,
      enter: () => undefined,
    },
    checkSigner,
    contracts: () => undefined,
    releaseReservation: () => undefined,
    recordSettled: () => undefined,
    recent: { forgetPayer: () => undefined },
    log: createLog({ service: "facilitator", level: "silent" }),
  };
  const options: TransferOptions = {
    network: "eip155:1",
    assets: new Map(),
    signers: new Set<string>(),
    payees: new Set<string>(),
    minAmount: () => minAmount,
  };
  const transfersFor = createTransfers(options, dependencies as unknown as TransferDependencies);
  return transfersFor({ kind: "sale", owner: "a sale", isKnown });
}

test("rejects an amount below the minimum although the signed maximum is larger, and settles 0 without a transaction", async () => {
  const engine = { settle: async () => ({ state: "settled", transaction: "0x44" }) };
  const transfers = createSaleTransfers(engine, { minAmount: 500n });
  const { walletSignature: _, ...signedPayment } = signedByWallet;
  const use = (amount: bigint) => ({ ...signedPayment, amount, max: 1_000n });
  expect(await transfers.settle(use(499n))).toMatchObject({
    result: {
      state: "rejected",
      rejection: {
        reason: "invalid_payment_requirements",
        message:
          "the amount is 499, but the minimum here is 500 of the token's smallest units (the facilitator's assets[].minAmount); charge more, or 0, which settles nothing.",
      },
    },
  });
  expect(await transfers.settle(use(500n))).toMatchObject({ result: { state: "settled" } });
  expect(await transfers.settleNothing(use(0n))).toMatchObject({ result: { state: "unused" } });
});

test("settles a stranger's claim only if it moves the minimum per voucher", async () => {
  const engine = { settle: async () => ({ state: "settled", transaction: "0x44" }) };
  const voucher = { channel: buildChannelConfig(sampleSettlement), maxClaimableAmount: 9_000n };
  const claims = [1n, 2n, 3n].map((totalClaimed) => ({ voucher, signature: "0x12" as const, totalClaimed }));
  const { walletSignature: _, ...payment } = signedByWallet;
  const claim = { ...payment, contract: channelsAddress, callData: encodeClaims(claims, "0x34") };
  const settle = async (amount: bigint, isKnown: boolean) =>
    (await createSaleTransfers(engine, { minAmount: 500n, isKnown }).settle({ ...claim, amount })).result;
  const message = "3 vouchers claim 1499 of the token's smallest units, but the minimum for them is 1500";
  expect(await settle(1_499n, false)).toMatchObject({
    state: "rejected",
    rejection: { reason: "invalid_exact_evm_transaction_simulation_failed", message: expect.stringContaining(message) },
  });
  expect(await settle(1_500n, false)).toMatchObject({ state: "settled" });
  expect(await settle(500n, true)).toMatchObject({ state: "settled" });
});

/** Settles a contract wallet's payment; a copy starts while the wallet is queried, or never. */
function settleByWallet(checkSigner: () => Promise<Rejection | undefined>, hasCopy: boolean) {
  let isRequested = false;
  const engine = {
    hasBegun: async () => isRequested && hasCopy,
    settle: async () => ({ state: "pending", transaction: "0x44" }) as const,
  };
  const check = () => {
    isRequested = true;
    return checkSigner();
  };
  return createSaleTransfers(engine, { checkSigner: check }).settle(signedByWallet);
}

test("returns the outcome to a copy in flight even if its wallet or the node now fails", async () => {
  const pendingResult = { result: { state: "pending", transaction: "0x44" } };
  expect(await settleByWallet(async () => rejection, true)).toMatchObject(pendingResult);
  expect(await settleByWallet(() => Promise.reject(unreachableError), true)).toMatchObject(pendingResult);
});

test("rejects a payment without a copy in flight if its wallet does", async () => {
  expect(await settleByWallet(async () => rejection, false)).toMatchObject({
    result: { state: "rejected", rejection },
  });
  await expect(settleByWallet(() => Promise.reject(unreachableError), false)).rejects.toThrow(unreachableError);
});
