import { hash } from "node:crypto";
import { Registry } from "prom-client";
import { pino } from "pino";
import type { PaymentRequirements } from "@x402/core/types";
import { createFacilitatorMetrics } from "#facilitator/facilitator-metrics.ts";
import { createOperations, type PaymentRequest } from "#facilitator/operations.ts";
import { rejectTime } from "#facilitator/verification/payment-checks.ts";
import { createTransfers } from "#facilitator/transfers.ts";
import type { NewClaim } from "#resource-server/claims/payment-claim.ts";
import { createFacilitatorOverHttp } from "#resource-server/facilitators/facilitator-over-http.ts";
import type { HttpClient, IncomingResponse } from "#daemon/http/http-client.ts";
import { findAcceptedOffer, readPayment } from "#resource-server/sale/payment-header.ts";
import { createPaymentsInFlight } from "#resource-server/sale/claim-settlement.ts";
import { createSales } from "#resource-server/sale/sale.ts";
import { openTestLedger } from "#resource-server/testing/claim-store.ts";
import { createRecentVerdicts } from "#facilitator/verification/verified-payments.ts";
import { reason } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { exact } from "#x402/exact.ts";
import { computeDomainSeparator } from "#x402/typed-data.ts";

const token = {
  address: "0x00000000000000000000000000000000000000AA",
  name: "USDC",
  version: "2",
  chainId: 1672,
} as const;
/** The time on every clock: 2027-01-15T08:00:00Z. */
const nowSeconds = 1_800_000_000;

const network = "eip155:1672";
const transaction = `0x${"ab".repeat(32)}` as const;
const log = pino({ level: "silent" });
const clock = () => nowSeconds * 1_000;

/** Results of one payment at a facilitator and at a seller, in JSON. */
export type ObservedPayment = Readonly<{ facilitator: object; seller: object }>;

/** Sends a payment to a facilitator whose chain accepts everything, and to a seller that uses such a facilitator. */
export async function observePayment(paymentPayload: unknown, paymentRequirements: unknown): Promise<ObservedPayment> {
  return {
    facilitator: await observeFacilitator({ paymentPayload, paymentRequirements }),
    seller: await observeSeller(paymentPayload, isObject(paymentRequirements) ? [paymentRequirements] : []),
  };
}

/** Sends a payment to a facilitator in the process of a seller that has already parsed it. */
export async function observeInProcess(paymentPayload: unknown, paymentRequirements: unknown): Promise<object> {
  const reading = readPayment(encodeHeader(paymentPayload));
  if (!reading.ok) throw new TypeError(reading.message);
  return observeFacilitator({ read: reading.payment.read, paymentRequirements });
}

const signer = `0x${"05".repeat(20)}` as const;

const nothing = () => undefined;
const unknownChain = {
  problem: nothing,
  shortage: nothing,
  decimals: () => new Map(),
  contracts: () => new Set<string>(),
};

async function observeFacilitator(request: PaymentRequest): Promise<object> {
  const registry = new Registry();
  const settled: object[] = [];
  const separator = computeDomainSeparator(token);
  const terms = {
    assets: new Map([[token.address.toLowerCase(), { ...token, separator }]]),
    payees: new Set<string>(),
  };
  const engine = {
    progress: async () => undefined,
    hasBegun: async () => false,
    recordVerified: async () => true,
    forgetRejected: async () => undefined,
    wasVerified: async () => false,
    adopt: async () => undefined,
    settle: async (payment: SignedPayment) => {
      settled.push(describeSettlement(payment));
      return { state: "settled", transaction } as const;
    },
  };
  const transfersFor = createTransfers(
    { network: "eip155:1672", minAmount: () => 1n, signers: new Set(), ...terms },
    {
      engine,
      sellers: {
        rejectTerms: () => undefined,
        rejectAmount: () => undefined,
        rejectIdentifier: async () => undefined,
        rejectGas: async () => undefined,
        record: async () => undefined,
        enter: () => undefined,
      },
      check: async ({ authorization }) => rejectTime(authorization, clock()),
      checkSigner: async ({ walletSignature }) =>
        walletSignature === undefined ? undefined : { reason: reason.signature, message: "the account has no code" },
      checkWallet: async ({ walletSignature }) =>
        walletSignature === undefined ? undefined : { reason: reason.signature, message: "the account has no code" },
      reserve: async () => undefined,
      releaseReservation: () => undefined,
      recordSettled: () => undefined,
      read: () => Promise.reject(new TypeError("nothing is read")),
      hasDeposit: async () => false,
      contracts: () => new Set(),
      recent: createRecentVerdicts({ entriesMax: 10 }, { monotonicMs: clock }),
      clock,
      monotonicMs: clock,
      log,
    },
  );
  const schemes = [{ scheme: exact, settling: await exact.settling() }];
  const { verify, settle } = createOperations(
    { networks: [{ network, signers: [signer], transfersFor, ...unknownChain }], schemes },
    { metrics: createFacilitatorMetrics([registry]), monotonicMs: clock },
  );
  const verifiedResponse = await waitForResponse(verify(request, {}));
  const pendingResponse = await waitForResponse(settle(request, {}));
  return { verified: verifiedResponse, settling: pendingResponse, settled, counted: await listOutcomes(registry) };
}

function describeSettlement({ id, asset, payer, payTo, amount, authorization, callData }: SignedPayment): object {
  const { validAfter, validBefore, nonce } = authorization;
  const words = [payer, payTo, amount, validAfter, validBefore, nonce].map(String);
  return { id, asset, payer, payTo, amount: String(amount), authorization: words, callData };
}

async function waitForResponse(response: Promise<object>): Promise<object> {
  try {
    return await response;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { thrown: error.name, message: error.message };
  }
}

async function listOutcomes(registry: Registry): Promise<readonly string[]> {
  const families = await registry.getMetricsAsJSON();
  return families.flatMap(({ name, values }) =>
    (values as readonly { metricName?: string; labels: Record<string, unknown>; value: number }[])
      .filter(({ metricName }) => metricName?.endsWith("_count"))
      .map(({ labels, value }) => `${name} ${String(labels["outcome"])} ${value}`),
  );
}

function isObject(value: unknown): value is PaymentRequirements {
  return typeof value === "object" && value !== null;
}

async function observeSeller(payload: unknown, offers: readonly PaymentRequirements[]): Promise<object> {
  const reading = readPayment(encodeHeader(payload));
  if (!reading.ok) return { rejected: reading.message };
  const { payment } = reading;
  const asked: string[] = [];
  const claims: NewClaim[] = [];
  await using ledger = await openTestLedger(":memory:", clock);
  await using facilitation = createFacilitatorOverHttp(
    {
      url: "http://facilitator.test",
      kinds: [{ scheme: "exact", network }],
      verifyTimeoutMs: 1_000,
      settleTimeoutMs: 1_000,
      offers: () => [],
    },
    { client: createAcceptingClient(asked), log, clock, signal: new AbortController().signal },
  );
  const sales = createSales(
    { inFlightMax: 2 },
    {
      ledger: { ...ledger, claim: async (claim) => (claims.push(claim), ledger.claim(claim)) },
      facilitation,
      payments: createPaymentsInFlight(),
      onSettled: () => undefined,
      // The recorded payments are valid for five minutes, but their offers allow one.
      clock: () => clock() + 240_000,
    },
  );
  const outcome = await sales.sell({
    payment,
    requirements: findAcceptedOffer(payment, offers),
    route: "GET /data",
    fingerprint: "request",
    client: "192.0.2.1",
    memory: { tryAcquire: () => true },
    work: async () => ({ kind: "resource", response: { status: 200, headers: [], body: new Uint8Array([1]) } }),
  });
  const { key, validBefore, digest } = payment;
  return {
    read: { payer: key.payer, nonce: key.nonce, validBefore, digest },
    outcome: outcome.kind === "invalid" ? { kind: outcome.kind, reason: outcome.reason } : { kind: outcome.kind },
    claims: claims.map(describeClaim),
    asked,
  };
}

function describeClaim({ key, digest, validBefore, payload }: NewClaim): object {
  return { key, digest, validBefore, payload: hashJson(payload) };
}

/** Creates a facilitator that accepts every payment, and records the hashes of the received bodies. */
function createAcceptingClient(asked: string[]): HttpClient {
  return async ({ path, body }) => {
    if (path === "/supported") return respondJson({ kinds: [{ x402Version: 2, scheme: "exact", network }] });
    asked.push(`${path} ${hash("sha256", String(body))}`);
    return respondJson(path === "/verify" ? { isValid: true } : { success: true, transaction, network });
  };
}

function respondJson(value: object): IncomingResponse {
  return { status: 200, headers: {}, body: new TextEncoder().encode(JSON.stringify(value)) };
}

function encodeHeader(payload: unknown): string {
  return Buffer.from(JSON.stringify(payload)).toString("base64");
}

function hashJson(value: unknown): string {
  return hash("sha256", JSON.stringify(value));
}
