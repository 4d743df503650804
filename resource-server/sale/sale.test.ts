import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentPayload, VerifyResponse } from "@x402/core/types";
import { afterEach, describe, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { FacilitationError, type FacilitationErrorCode } from "../facilitators/facilitation.ts";
import { findAcceptedOffer, readPayment, type Payment } from "./payment-header.ts";
import { createPaymentsInFlight } from "./claim-settlement.ts";
import { createSales, type SaleRequest } from "./sale.ts";
import { resumeSettlement } from "./resume-settlements.ts";
import { createFacilitationStub, pendingResponse, settledResponse, transaction } from "../testing/facilitation-stub.ts";
import { openTestLedger } from "../testing/claim-store.ts";
import { offer as channelOffer, sign } from "../testing/sample-channel.ts";
import { offer, createPayload, createPayment, paymentsClock } from "../testing/payments.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";
import type { SaleOutcome } from "./sale-outcome.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";

const response = { status: 200, headers: [["content-type", "text/plain"]], body: new Uint8Array([1, 2, 3]) } as const;
const resource: UpstreamResult = { kind: "resource", response };

const ledgers: AsyncDisposable[] = [];
afterEach(() => Promise.all(ledgers.splice(0).map((ledger) => ledger[Symbol.asyncDispose]())));

async function shop(result: () => Promise<UpstreamResult> = async () => resource, hasRoom = true) {
  const facilitation = createFacilitationStub();
  const ledgerStore = await openTestLedger(":memory:", paymentsClock);
  ledgers.push(ledgerStore);
  const ledger = { ...ledgerStore, hasRoom: () => hasRoom };
  const chargedAmounts: string[] = [];
  const offers = [offer];
  const parts = {
    clock: paymentsClock,
    ledger,
    facilitation,
    payments: createPaymentsInFlight(),
    onSettled: (claim: PaymentClaim) => void chargedAmounts.push(claim.key.nonce),
  };
  const request = (paid: Payment, fingerprint = "request"): SaleRequest => ({
    ...createOrder(paid, offers, fingerprint),
    async work() {
      facilitation.asked.push("work");
      return result();
    },
  });
  const { sell } = createSales({ inFlightMax: 40 }, parts);
  const buy = (paid: Payment, fingerprint?: string) => sell(request(paid, fingerprint));
  return { facilitation, ledger, parts, sell, buy, chargedAmounts, offers, asked: facilitation.asked };
}

function createOrder(payment: Payment, offers = [offer], fingerprint = "request") {
  const requirements = findAcceptedOffer(payment, offers);
  const memory = { tryAcquire: () => true };
  return { payment, requirements, route: "GET /data", fingerprint, client: "192.0.2.1", memory };
}

const createIdentifier = (id: string) => ({ extensions: { "payment-identifier": { info: { id } } } });

/** Builds a facilitator's response when the token has used the nonce; `named` is its own failed transaction. */
function nonceUsed(named: string) {
  return { ...pendingResponse, transaction: named, errorReason: "invalid_exact_evm_nonce_already_used" };
}

async function deliver(outcome: SaleOutcome, isDelivered = true) {
  if (outcome.kind !== "sold") throw new Error(`expected a sale, found ${outcome.kind}`);
  await outcome.end?.(isDelivered);
  return outcome;
}

const noVerdict = (code: FacilitationErrorCode) => new FacilitationError(code, "why");

describe("sell", () => {
  it("verifies, calls the upstream and settles, in this order, then sells the response", async () => {
    const { buy, asked, chargedAmounts, ledger } = await shop();
    const outcome = await buy(createPayment());
    expect(outcome).toMatchObject({ kind: "sold", response, settlement: settledResponse });
    expect(asked).toEqual(["verify", "work", "settle"]);
    expect(chargedAmounts).toHaveLength(1);
    await deliver(outcome);
    expect(await ledger.count()).toEqual({ delivered: 1 });
  });

  it.each<[string, VerifyResponse | Error, object]>([
    ["a rejection", { isValid: false, invalidReason: "bad" }, { kind: "invalid", reason: "bad" }],
    ["malformed", noVerdict("rejected"), { kind: "invalid", reason: "invalid_payload" }],
    [
      "its own fault while verifying",
      { isValid: false, invalidReason: "unexpected_verify_error" },
      { kind: "no-verdict" },
    ],
    ["its own fault", { isValid: false, invalidReason: "unexpected_error" }, { kind: "no-verdict" }],
    ...(["unreachable", "unknown", "failed", "denied", "unintelligible"] as const).map(
      (code) => [code, noVerdict(code), { kind: "no-verdict", cause: { code } }] as [string, Error, object],
    ),
  ])(
    "does not call the upstream after the verdict %s, and accepts the same payment on retry",
    async (_, verdict, outcome) => {
      const { buy, asked, facilitation, ledger } = await shop();
      facilitation.verdicts.unshift(verdict);
      const paidPayment = createPayment();
      expect(await buy(paidPayment)).toMatchObject(outcome);
      expect([asked, await ledger.count()]).toEqual([["verify"], {}]);
      expect(await buy(paidPayment)).toMatchObject({ kind: "sold" });
    },
  );

  it("returns in-progress to concurrent copies of a channel's payment", async () => {
    const { buy, offers, asked } = await shop();
    offers.push(channelOffer);
    const { sent } = sign("voucher", 10n) as { sent: PaymentPayload };
    const readResult = readPayment(encodePaymentSignatureHeader(sent));
    if (!readResult.ok) throw new Error(readResult.message);
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => buy(readResult.payment)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["in-progress", "in-progress", "sold"]);
    expect(asked.filter((step) => step === "work")).toHaveLength(1);
  });

  it("returns in-progress for a rejected payment while another copy is being verified", async () => {
    const { parts, facilitation, buy } = await shop();
    const paid = createPayment();
    const rejectedVerdict = { isValid: false, invalidReason: "permit2_allowance_required" };
    const verification = Promise.withResolvers<void>();
    const verdicts = [Promise.resolve(rejectedVerdict), verification.promise.then(() => ({ isValid: true }))];
    const verify = () => verdicts.shift() ?? Promise.reject(new Error("verified a third time"));
    const { sell } = createSales({ inFlightMax: 40 }, { ...parts, facilitation: { ...facilitation, verify } });
    const send = () => sell({ ...createOrder(paid), work: async () => resource });
    const [firstSale, secondSale] = [send(), send()];
    expect(await firstSale).toEqual({ kind: "in-progress" });
    verification.resolve();
    expect((await secondSale).kind).toBe("sold");
    facilitation.verdicts.unshift(rejectedVerdict);
    expect(await buy(createPayment())).toMatchObject({ kind: "invalid", reason: rejectedVerdict.invalidReason });
  });

  it("calls the upstream once for ten concurrent requests with the same payment", async () => {
    const { buy, asked, chargedAmounts } = await shop();
    const paid = createPayment();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => buy(paid)));
    const kinds = outcomes.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "sold")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "in-progress")).toHaveLength(9);
    expect(asked.filter((step) => step !== "verify")).toEqual(["work", "settle"]);
    expect(chargedAmounts).toHaveLength(1);
  });

  it("returns a delivered response again for the same payment and request, without the facilitator", async () => {
    const { buy, asked, chargedAmounts, ledger } = await shop();
    const paid = createPayment();
    await deliver(await buy(paid));
    asked.length = 0;
    for (const _ of [1, 2])
      expect(await deliver(await buy(paid))).toMatchObject({ response, settlement: settledResponse });
    expect(await buy(paid, "another request")).toEqual({ kind: "other-request" });
    expect(await ledger.forgetResponses("delivered")).toBe(1);
    expect(await buy(paid)).toEqual({ kind: "invalid", reason: "invalid_exact_evm_nonce_already_used" });
    expect([asked, chargedAmounts.length]).toEqual([[], 1]);
  });

  it("returns a delivered response only to the same client, or for the same payment-identifier", async () => {
    const { sell } = await shop();
    const from = (paid: Payment, client: string) => sell({ ...createOrder(paid), client, work: async () => resource });
    const plainPayment = createPayment();
    await deliver(await from(plainPayment, "192.0.2.1"));
    expect(await from(plainPayment, "192.0.2.2")).toEqual({
      kind: "invalid",
      reason: "invalid_exact_evm_nonce_already_used",
    });
    const payload = createPayload();
    const namedPayment = createPayment({ ...payload, ...createIdentifier("a-random-identifier-1") });
    await deliver(await from(namedPayment, "192.0.2.1"));
    expect(await deliver(await from(namedPayment, "192.0.2.2"))).toMatchObject({ response });
    const guessedPayment = createPayment({ ...payload, ...createIdentifier("a-random-identifier-2") });
    for (const otherPayment of [guessedPayment, createPayment(payload)])
      expect((await from(otherPayment, "192.0.2.1")).kind).toBe("invalid");
  });

  it("charges a payer's identifier once even if it signs again, and rejects another request or other terms", async () => {
    const { buy, asked, chargedAmounts, ledger, sell } = await shop();
    const createNamedPayment = () =>
      createPayment({ ...createPayload(), ...createIdentifier("a-random-identifier-3") });
    const bothSales = await Promise.all([buy(createNamedPayment()), buy(createNamedPayment())]);
    expect(bothSales.map(({ kind }) => kind).toSorted()).toEqual(["in-progress", "sold"]);
    for (const outcome of bothSales) if (outcome.kind === "sold") await deliver(outcome);
    expect(await deliver(await buy(createNamedPayment()))).toMatchObject({ response, settlement: settledResponse });
    expect(await buy(createNamedPayment(), "another request")).toEqual({ kind: "other-request" });
    expect(asked.filter((step) => step !== "verify")).toEqual(["work", "settle"]);
    asked.length = 0;
    for (const changes of [{ amount: "20000" }, { asset: `0x${"0b".repeat(20)}` }, { payTo: `0x${"0c".repeat(20)}` }]) {
      const requirements = { ...offer, ...changes };
      const order = { ...createOrder(createNamedPayment()), requirements, work: async () => resource };
      expect(await sell(order)).toEqual({ kind: "other-request" });
    }
    expect(asked, "a conflict queries no facilitator").toEqual([]);
    await ledger.forgetResponses("delivered");
    expect(await buy(createNamedPayment())).toEqual({ kind: "other-request" });
    const otherPayload = createPayload();
    const authorization = { ...(otherPayload.payload["authorization"] as object), from: `0x${"12".repeat(20)}` };
    const payload = { ...otherPayload.payload, authorization };
    expect(
      (await buy(createPayment({ ...otherPayload, payload, ...createIdentifier("a-random-identifier-3") }))).kind,
    ).toBe("sold");
    expect([asked.filter((step) => step !== "verify"), chargedAmounts.length]).toEqual([["work", "settle"], 2]);
  });

  it("returns in-progress to a copy that is verified after the delivery", async () => {
    const { parts, facilitation, buy } = await shop();
    const paid = createPayment();
    const verification = Promise.withResolvers<void>();
    const verify = () => verification.promise.then(() => ({ isValid: true }));
    const late = createSales({ inFlightMax: 40 }, { ...parts, facilitation: { ...facilitation, verify } }).sell({
      ...createOrder(paid),
      work: () => Promise.reject(new Error("worked twice")),
    });
    await deliver(await buy(paid));
    verification.resolve();
    expect(await late).toEqual({ kind: "in-progress" });
  });

  it.each([3_660, 3_661])("accepts an authorization of up to 3,660 s: %i s", async (validity) => {
    const { buy, asked } = await shop();
    const paidPayload = createPayload();
    const validBefore = String(paymentsClock() / 1_000 + validity);
    const authorization = { ...(paidPayload.payload["authorization"] as object), validBefore };
    const outcome = await buy(createPayment({ ...paidPayload, payload: { ...paidPayload.payload, authorization } }));
    if (validity === 3_660) return expect(outcome.kind).toBe("sold");
    expect(outcome).toEqual({
      kind: "invalid",
      reason: "invalid_exact_evm_payload_authorization_valid_before",
      message: `the payment expires at ${validBefore}, but may be valid for at most 3660 s from now, ${paymentsClock() / 1_000}; sign a new one.`,
    });
    expect(asked).toEqual([]);
    return undefined;
  });

  it("returns busy without verification while no response can be stored", async () => {
    const { buy, asked } = await shop(undefined, false);
    expect(await buy(createPayment())).toEqual({ kind: "busy" });
    expect(asked).toEqual([]);
  });

  it("returns in-progress to a second request during delivery", async () => {
    const { buy } = await shop();
    const paid = createPayment();
    await buy(paid);
    expect(await buy(paid)).toEqual({ kind: "in-progress" });
  });

  it.each(["settled", "settling"])("delivers for a %s payment whose offer was removed", async (state) => {
    const { buy, facilitation, ledger, offers } = await shop();
    if (state === "settling") facilitation.settlements.unshift(pendingResponse);
    const paid = createPayment();
    const firstSale = await buy(paid);
    if (firstSale.kind === "sold") await firstSale.end?.(false);
    expect(await ledger.count()).toEqual({ [state]: 1 });
    offers.splice(0, 1, { ...offer, amount: "20000" });
    expect(await buy(paid)).toMatchObject({ kind: "sold", response, settlement: settledResponse });
  });

  it("rejects a payment for an unknown offer without verification", async () => {
    const { buy, asked, offers } = await shop();
    offers.length = 0;
    expect(await buy(createPayment())).toEqual({ kind: "invalid", reason: "No matching payment requirements" });
    expect(asked).toEqual([]);
  });

  it("returns an undelivered response only to the request that paid for it", async () => {
    const { buy } = await shop();
    const paid = createPayment();
    await deliver(await buy(paid), false);
    expect(await buy(paid, "another request")).toEqual({ kind: "other-request" });
    expect(await buy(paid)).toMatchObject({ kind: "sold" });
  });

  it("rejects a payment with a known nonce and a forged signature", async () => {
    const { buy, facilitation } = await shop();
    const paid = createPayload();
    await deliver(await buy(createPayment(paid)), false);
    const forgedPayment = createPayment({ ...paid, payload: { ...paid.payload, signature: `0x${"11".repeat(65)}` } });
    facilitation.verdicts.unshift({ isValid: false, invalidReason: "invalid_exact_evm_signature" });
    expect(await buy(forgedPayment)).toEqual({ kind: "invalid", reason: "invalid_exact_evm_signature" });
    expect(await buy(forgedPayment)).toEqual({ kind: "invalid", reason: "invalid_exact_evm_nonce_already_used" });
  });
});

describe("sell, if the upstream fails or declines", () => {
  it.each<UpstreamResult>([
    { kind: "failed", status: 502, message: "the upstream returned HTTP 500" },
    { kind: "declined", response: { ...response, status: 404 } },
  ])("does not settle ($kind), and accepts the payment again", async (result) => {
    const results = [result, resource];
    const { buy, asked, ledger } = await shop(async () => results.shift() ?? resource);
    const paid = createPayment();
    expect(await buy(paid)).toEqual(result);
    expect([asked, await ledger.count()]).toEqual([["verify", "work"], {}]);
    expect(await buy(paid)).toMatchObject({ kind: "sold" });
  });

  it("releases the payment if the upstream's call throws", async () => {
    const { buy, ledger } = await shop(() => Promise.reject(new Error("a fault")));
    await expect(buy(createPayment())).rejects.toThrow("a fault");
    expect(await ledger.count()).toEqual({});
  });
});

describe("sell, while a settlement is pending", () => {
  it("returns pending, then the retained response once the payment is settled", async () => {
    const { buy, asked, facilitation, chargedAmounts } = await shop();
    facilitation.settlements.unshift(pendingResponse);
    const paid = createPayment();
    expect(await buy(paid)).toMatchObject({ kind: "pending", settlement: { transaction } });
    expect(chargedAmounts).toEqual([]);
    expect(await buy(paid)).toMatchObject({ kind: "sold", response, settlement: settledResponse });
    expect(asked).toEqual(["verify", "work", "settle", "settle"]);
    expect(chargedAmounts).toHaveLength(1);
  });

  it.each([
    ...(["failed", "unknown", "unintelligible"] as const).map((code) => [code, noVerdict(code)] as const),
    ["its own fault", { ...pendingResponse, errorReason: "unexpected_settle_error" }] as const,
  ])("stays pending with the known transaction after the error %s", async (_, answer) => {
    const { buy, facilitation } = await shop();
    facilitation.settlements.unshift(pendingResponse, answer);
    const paid = createPayment();
    await buy(paid);
    const secondSale = await buy(paid);
    expect(secondSale).toMatchObject({
      kind: "pending",
      settlement: { errorReason: "settlement_pending", transaction },
    });
    expect(await buy(paid)).toMatchObject({ kind: "sold" });
  });

  it.each([
    ["EIP-3009", "invalid_exact_evm_nonce_already_used"],
    ["Permit2", "permit2_invalid_nonce"],
  ])("counts a used nonce of %s as settled by the reported transaction", async (_, errorReason) => {
    const { buy, facilitation } = await shop();
    facilitation.settlements.unshift(pendingResponse, { ...nonceUsed(""), errorReason });
    const paid = createPayment();
    expect(await buy(paid)).toMatchObject({ kind: "pending" });
    expect(await buy(paid)).toMatchObject({
      kind: "sold",
      settlement: { success: true, transaction, payer: paid.key.payer },
    });
  });

  it.each([
    ["no transaction was reported", new FacilitationError("failed", "503"), nonceUsed("")],
    ["the reported transaction failed", pendingResponse, nonceUsed(transaction)],
    ["another transaction failed", pendingResponse, nonceUsed(`0x${"cd".repeat(32)}`)],
  ])("delivers nothing if the payer used the nonce elsewhere: %s", async (_name, first, second) => {
    const { buy, facilitation, ledger, chargedAmounts } = await shop();
    facilitation.settlements.unshift(first, second);
    const paid = createPayment();
    expect(await buy(paid)).toMatchObject({ kind: "pending" });
    expect(await buy(paid)).toMatchObject({ kind: "invalid", settlement: { success: false } });
    expect([await ledger.count(), chargedAmounts]).toEqual([{}, []]);
  });

  it("accepts duplicate_settlement as its own only with the transaction reported before", async () => {
    const duplicateResponse = { ...pendingResponse, errorReason: "duplicate_settlement" };
    const ownShop = await shop();
    ownShop.facilitation.settlements.unshift(pendingResponse, duplicateResponse);
    const paid = createPayment();
    expect([(await ownShop.buy(paid)).kind, (await ownShop.buy(paid)).kind]).toEqual(["pending", "sold"]);
    const otherShop = await shop();
    otherShop.facilitation.settlements.unshift(pendingResponse, {
      ...duplicateResponse,
      transaction: `0x${"cd".repeat(32)}`,
    });
    expect([(await otherShop.buy(paid)).kind, (await otherShop.buy(paid)).kind]).toEqual(["pending", "invalid"]);
    expect(otherShop.chargedAmounts).toEqual([]);
  });

  it.each([
    ["duplicate_settlement", transaction],
    ["invalid_exact_evm_nonce_already_used", ""],
    ["permit2_invalid_nonce", ""],
  ])(
    "delivers nothing for a channel's deposit after %s, because the channel was not charged",
    async (errorReason, by) => {
      const { buy, facilitation, offers, ledger } = await shop();
      offers.push(channelOffer);
      const paid = createPayment((sign("voucher", 10n) as { sent: PaymentPayload }).sent);
      facilitation.settlements.unshift(pendingResponse, { ...pendingResponse, errorReason, transaction: by });
      expect(await buy(paid)).toMatchObject({ kind: "pending", settlement: { transaction } });
      expect(await buy(paid)).toMatchObject({ kind: "invalid", reason: errorReason });
      expect(await ledger.count()).toEqual({});
    },
  );

  it.each([
    ...(["unreachable", "denied"] as const).map((code) => [noVerdict(code), { kind: "no-verdict" }] as const),
    [noVerdict("rejected"), { kind: "invalid", reason: "invalid_payload" }] as const,
    ...["invalid_exact_evm_insufficient_balance", "duplicate_settlement"].map((errorReason) => {
      const settlement = { ...pendingResponse, errorReason, transaction: "" };
      return [settlement, { kind: "invalid", reason: errorReason, settlement }] as const;
    }),
  ])("charges nothing and deletes the claim after a rejected settlement: %o", async (answer, outcome) => {
    const { buy, facilitation, ledger, chargedAmounts } = await shop();
    facilitation.settlements.unshift(answer);
    expect(await buy(createPayment())).toMatchObject(outcome);
    expect([await ledger.count(), chargedAmounts]).toEqual([{}, []]);
  });
});

describe("sell, with a facilitator that distinguishes callers", () => {
  it("settles a payment with the same Idempotency-Key on every retry", async () => {
    const { buy, facilitation, ledger, parts } = await shop();
    facilitation.settlements.unshift(pendingResponse, pendingResponse);
    const paid = createPayment();
    await buy(paid);
    await buy(paid);
    for (const claim of await ledger.unsettled(10)) await resumeSettlement(claim, parts);
    await buy(createPayment());
    const [firstKey, ...otherKeys] = facilitation.idempotencyKeys;
    expect(otherKeys).toEqual([firstKey, firstKey, expect.not.stringMatching(firstKey ?? "")]);
  });

  it("returns in-progress to an invalid payment while a copy of its request is settling it", async () => {
    const { buy, facilitation, asked } = await shop();
    const firstSettlement = until("the first copy settles", generousMs, () => asked.includes("settle"));
    const duplicateVerdict = firstSettlement.then(() => ({ isValid: false, invalidReason: "duplicate_settlement" }));
    facilitation.verdicts.unshift({ isValid: true }, duplicateVerdict);
    const paid = createPayment();
    const kinds = (await Promise.all([buy(paid), buy(paid)])).map(({ kind }) => kind);
    expect(kinds).toEqual(["sold", "in-progress"]);
  });
});

describe("resumeSettlement", () => {
  it("settles a pending payment, so that its client gets the response", async () => {
    const { buy, facilitation, ledger, parts, chargedAmounts: charged, asked } = await shop();
    facilitation.settlements.unshift(pendingResponse);
    const paid = createPayment();
    await buy(paid);
    for (const claim of await ledger.unsettled(10)) await resumeSettlement(claim, parts);
    expect([await ledger.count(), charged.length]).toEqual([{ settled: 1 }, 1]);
    asked.length = 0;
    expect(await buy(paid)).toMatchObject({ kind: "sold", response });
    expect(asked).toEqual([]);
  });

  it("skips a payment in use by a request", async () => {
    const { buy, facilitation, ledger, parts, asked } = await shop();
    facilitation.settlements.unshift(pendingResponse);
    await buy(createPayment());
    const [claim] = await ledger.unsettled(10);
    parts.payments.acquire(claim!.key);
    asked.length = 0;
    await resumeSettlement(claim!, parts);
    expect(asked).toEqual([]);
  });
});
