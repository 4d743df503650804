import { readdirSync, readFileSync } from "node:fs";
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import type {
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkClient,
  SettleResponse,
  VerifyResponse,
} from "@x402/core/types";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { findKind } from "#resource-server/facilitators/completed-offers.ts";
import { supportedResponse } from "#resource-server/facilitators/facilitation.ts";
import { createFacilitatorOverHttp } from "#resource-server/facilitators/facilitator-over-http.ts";
import { respondToSale, type HttpResponse } from "#resource-server/payment-answers.ts";
import { createPaymentsInFlight } from "#resource-server/sale/claim-settlement.ts";
import { createSales } from "#resource-server/sale/sale.ts";
import { openTestLedger } from "#resource-server/testing/claim-store.ts";
import { createPayment, offer as exactOffer, route } from "#resource-server/testing/payments.ts";
import { offer as channelOffer } from "#resource-server/testing/sample-channel.ts";
import { testAccount } from "../support/payments/payment-chain.ts";

/** Program that responded, the first line of a recording. */
type Program = Readonly<{ program: string; version: string; supported: object }>;

/** Response of a published facilitator on anvil, and the payments (`<kind>: <what is wrong>`) that got it. Long texts are truncated. */
type RecordedResponse = Readonly<{
  path: "/verify" | "/settle";
  status: number;
  body: unknown;
  cases: readonly string[];
}>;

const folder = new URL("recorded-facilitators/", import.meta.url);
const recordings = readdirSync(folder).map((file) => {
  const lines = readFileSync(new URL(file, folder), "utf8").trimEnd().split("\n");
  const [program, ...responses] = lines.map((line) => JSON.parse(line) as Program | RecordedResponse) as [
    Program,
    ...RecordedResponse[],
  ];
  return { ...program, responses };
});

const { account } = testAccount(1);
const signer = {
  address: account.address,
  signTypedData: (message: never) => account.signTypedData(message),
  /** A new channel's balance and claimed total. */
  readContract: async () => [0n, 0n],
};
const { extra } = exactOffer;
const permit2Offer = { ...exactOffer, extra: { ...extra, assetTransferMethod: "permit2" } };
const uptoOffer = { ...exactOffer, scheme: "upto", extra: { ...extra, facilitatorAddress: testAccount(5).address } };
const kinds: Readonly<Record<string, readonly [SchemeNetworkClient, PaymentRequirements]>> = {
  exact: [new ExactEvmScheme(signer), exactOffer],
  "exact permit2": [new ExactEvmScheme(signer), permit2Offer],
  upto: [new UptoEvmScheme(signer), uptoOffer],
  batch: [new BatchSettlementEvmScheme(signer), channelOffer],
};

/** A signed payment of each kind, as JSON: each case has its own ledger. */
const signed = new Map(
  await Promise.all(
    Object.entries(kinds).map(async ([kind, [client, accepted]]) => {
      const { payload } = await client.createPaymentPayload(2, accepted);
      return [kind, JSON.stringify({ x402Version: 2, accepted, payload })] as const;
    }),
  ),
);

/** Returns a payment of a recorded kind, with an invalid signature if recorded so. */
function readPayment(name: string): PaymentPayload {
  const text = signed.get(name.split(":")[0] ?? "");
  if (text === undefined) throw new Error(`${name} is of no known kind`);
  const broken = isUnsigned.test(name) ? "dead" : "$2";
  return JSON.parse(text.replace(/("signature":"0x\w{8})(\w{4})/g, `$1${broken}`)) as PaymentPayload;
}

/** Sells for a payment with a facilitator that returns this response, and otherwise succeeds. */
async function buy({ path, status, body }: RecordedResponse, name: string): Promise<HttpResponse> {
  const sent = readPayment(name);
  const responses: Readonly<Record<string, unknown>> = {
    "/supported": { kinds: [{ x402Version: 2, ...sent.accepted }] },
    "/verify": { isValid: true },
    "/settle": { success: true, transaction: `0x${"ab".repeat(32)}`, network: sent.accepted.network },
    [path]: body,
  };
  const client = async (asked: Readonly<{ path: string }>) => {
    const text = typeof body === "string" && asked.path === path ? body : JSON.stringify(responses[asked.path]);
    return { status: asked.path === path ? status : 200, headers: {}, body: new TextEncoder().encode(text) };
  };
  const times = { verifyTimeoutMs: 1_000, settleTimeoutMs: 1_000 };
  await using facilitation = createFacilitatorOverHttp(
    { url: "http://facilitator.test", kinds: [sent.accepted], offers: () => [], ...times },
    { client, log: pino({ level: "silent" }), clock: Date.now, signal: new AbortController().signal },
  );
  await using ledger = await openTestLedger(":memory:", Date.now);
  const parts = { ledger, facilitation, payments: createPaymentsInFlight(), onSettled: () => undefined };
  const sales = createSales({ inFlightMax: 2 }, { ...parts, clock: Date.now });
  const outcome = await sales.sell({
    payment: createPayment(sent),
    requirements: sent.accepted,
    route: route.key,
    fingerprint: "request",
    client: "192.0.2.1",
    memory: { tryAcquire: () => true },
    work: async () => ({ kind: "resource", response: { status: 200, headers: [], body: new Uint8Array([1]) } }),
  });
  return respondToSale(outcome, { route, url: "http://seller.test/data" }, () => {
    throw new Error("the route is sold");
  });
}

const isUnsigned = /signature|another chain|missing field|wrong type/;
/** The payment is valid, but the facilitator's node or signer is not available, or the outcome is not known. */
const isFault = /: (?:node|signer without gas|late receipt$)/;
/**
 * Rejections that no buyer can cause, because the seller checks a payment's form first, offers only what the facilitator lists, and knows
 * its own payments; or that don't reveal whether the facilitator's node or the payment is at fault.
 */
const isUnclear = new RegExp(
  [
    ": (?:malformed body|without requirements|unknown|wrong network|empty payload|missing field|wrong type)",
    ": (?:copy of another|late receipt, again)",
    "(?:permit2|upto): replayed",
    "token without code",
    "(?:permit2|upto): simulation failure",
  ].join("|"),
);

type Body = Partial<VerifyResponse & SettleResponse & { error: string; invalidReasonDetails: string }>;

/** Expected status of the response to the buyer. */
function expectedOf({ path, body }: RecordedResponse, name: string): readonly number[] {
  const { isValid = false, success = false } = body as Body;
  if (isValid || success) return [200];
  if (isUnclear.test(name)) return [402, path === "/verify" ? 503 : 202];
  if (isFault.test(name)) return [path === "/verify" ? 503 : 202];
  return [JSON.stringify(body).includes("permit2_allowance_required") ? 412 : 402];
}

describe.each(recordings)("responses of $program $version", ({ responses, supported }) => {
  test("list the kinds that it settles", () => {
    const { kinds: listed } = supportedResponse.parse(supported);
    const { network } = exactOffer;
    expect(["exact", "upto"].filter((scheme) => findKind(listed, { scheme, network }) === undefined)).toEqual([]);
  });

  const each = responses.flatMap((recorded) => recorded.cases.map((name) => ({ name, ...recorded })));
  test.each(each)("are reported to the buyer: $name, $path", async ({ name, ...recorded }) => {
    const { status, headers, body } = await buy(recorded, name);
    expect(expectedOf(recorded, name)).toContain(status);
    const { "PAYMENT-REQUIRED": required, "PAYMENT-RESPONSE": response } = headers;
    const error = required === undefined ? undefined : decodePaymentRequiredHeader(required).error;
    const settlement = response === undefined ? undefined : decodePaymentResponseHeader(response);
    const said = JSON.stringify([error, settlement, String(body)]);
    expect(said, "the node's URL").not.toContain("8545");
    if (status === 402 || status === 412) expect(error).toMatch(/^\w+$/);
    if (status === 503)
      expect([String(body), headers["Retry-After"]]).toEqual([expect.stringContaining("you were not charged"), "3"]);
    if (status === 202) expect(settlement).toMatchObject({ success: false, errorReason: "settlement_pending" });
  });
});
