import { truncateText } from "#daemon/secrets/mask.ts";
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from "@x402/core/types";
import type { z } from "zod";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { requestTraceHeaders } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { hasNeverConnected, type HttpClient } from "#daemon/http/http-client.ts";
import {
  FacilitationError,
  type Facilitation,
  type FacilitationErrorCode,
  settleResponse,
  supportedResponse,
  verifyResponse,
} from "./facilitation.ts";
import type { SoldKind } from "../routes/route.ts";
import { compareClocks } from "./clock-comparison.ts";
import { watchFacilitator, type FacilitatorWatch } from "./facilitator-watch.ts";
import type { ResourceServerSettings } from "../settings.ts";
import { termsCheckHeader } from "#x402/envelope.ts";
import { reason } from "#x402/reason.ts";
import { schemes } from "#x402/schemes.ts";
import { createTermsCheck } from "./terms-check.ts";

export type FacilitatorOverHttpOptions = Omit<ResourceServerSettings["facilitator"], "url"> &
  Readonly<{
    url: string;
    kinds: readonly SoldKind[];
    offers: () => readonly PaymentRequirements[];
  }>;

/** A facilitator that takes longer for /supported counts as down; a verification may take longer. */
const supportedTimeoutMs = 5_000;

const responseBytesMax = 65_536;
const decoder = new TextDecoder();

type RequestHeaders = Readonly<Record<string, string>>;
type FacilitatorRequest = Readonly<{ timeoutMs: number; body?: unknown; headers?: RequestHeaders | undefined }>;

type FacilitatorOverHttpDependencies = Readonly<{
  client: HttpClient;
  log: Logger;
  clock: () => number;
  signal: AbortSignal;
}>;

/**
 * Creates a client of a facilitator over HTTP (x402 version 2: `/verify`, `/settle`, `/supported`). Does not use the SDK's client, because
 * it reads responses of any size, passes on the facilitator's raw text, and does not distinguish a request that was never sent from one
 * with an unknown outcome.
 */
export function createFacilitatorOverHttp(
  { apiKey, verifyTimeoutMs, settleTimeoutMs, ...options }: FacilitatorOverHttpOptions,
  { client, log, clock, signal }: FacilitatorOverHttpDependencies,
): Facilitation & Pick<FacilitatorWatch, "checked"> {
  const { url, headers: basic } = parseHttpEndpoint(options.url);
  const credentials = { ...basic, ...(apiKey && buildKeyHeader(apiKey, "Authorization" in basic)) };
  const { origin, pathname, search } = new URL(url);
  const root = `${pathname}${search}`.replace(/\/+$/, "");

  const clocks = compareClocks({ clock, log });

  async function send<T>(path: string, schema: z.ZodType<T>, sent: FacilitatorRequest): Promise<T> {
    const where = `${origin}${root}${path}`;
    const sentAtMs = clock();
    const { status, headers, body } = await exchange(where, `${root}${path}`, sent);
    clocks.note(headers, sentAtMs);
    return parseResponse(schema, where, status, decoder.decode(body));
  }

  async function exchange(where: string, path: string, { timeoutMs, body, headers }: FacilitatorRequest) {
    try {
      return await client({
        origin,
        path,
        method: body === undefined ? "GET" : "POST",
        headers: { "Content-Type": "application/json", ...credentials, ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
        timeoutMs,
        limitBytes: responseBytesMax,
      });
    } catch (cause) {
      const code = hasNeverConnected(cause) ? "unreachable" : "unknown";
      throw new FacilitationError(code, `no response from ${where}: ${String(cause)}`, { cause });
    }
  }

  async function verify(sent: PaymentPayload, requirements: PaymentRequirements, headers?: RequestHeaders) {
    const body = buildRequestBody(sent, requirements);
    const verdict = await send("/verify", verifyResponse, { timeoutMs: verifyTimeoutMs, body, headers });
    if (!(await isContradicted(verdict.invalidReason, sent, requirements))) return verdict;
    const message = `${origin}${root}/verify returned ${verdict.invalidReason} to a valid signature; check its node's RPC`;
    throw new FacilitationError("failed", message);
  }
  const fetchSupported = () =>
    send("/supported", supportedResponse, { timeoutMs: Math.min(verifyTimeoutMs, supportedTimeoutMs) });
  const rejectedTerms = createTermsCheck(options.offers, (sent, offer) =>
    verify(sent, offer, { [termsCheckHeader]: "1" }),
  );
  const { suspect, ...watch } = watchFacilitator(options, { log, signal, supported: fetchSupported, rejectedTerms });
  return {
    ...watch,
    clock: clocks.check,
    verify: async ({ sent }, requirements, request) => {
      try {
        return await verify(sent, requirements, request && requestTraceHeaders(request));
      } catch (error) {
        if (error instanceof FacilitationError && isDown.has(error.code)) suspect();
        throw error;
      }
    },
    async settle({ sent }, requirements, idempotencyKey, request) {
      const response = await send("/settle", settleResponse, {
        timeoutMs: settleTimeoutMs,
        body: buildRequestBody(sent, requirements),
        headers: { "Idempotency-Key": idempotencyKey, ...(request && requestTraceHeaders(request)) },
      });
      const isContrary = await isContradicted(response.errorReason, sent, requirements);
      return isContrary ? { ...response, errorReason: "unexpected_settle_error" } : response;
    },
  };
}

/** Returns the body of a facilitator's response. Throws a {@link FacilitationError} if it has none of the schema. */
function parseResponse<T>(schema: z.ZodType<T>, where: string, status: number, text: string): T {
  const parsed = schema.safeParse(parseJson(text));
  // Other facilitators reject a payment with an error status, and a verdict as the body.
  if (parsed.success && (status === 200 || (status >= 400 && isRejection(parsed.data)))) return parsed.data;
  const excerpt = JSON.stringify(truncateText(text, 200));
  if (status < 400)
    throw new FacilitationError("unintelligible", `${where} is not an x402 facilitator: ${status} ${excerpt}`);
  throw new FacilitationError(nameFault(status), `${where} returned HTTP ${status}: ${excerpt}`);
}

const ofSignature: ReadonlySet<string | undefined> = new Set([
  reason.signature,
  reason.permit2Signature,
  reason.voucherSignature,
  reason.depositSignature,
  reason.depositPermit2Signature,
  "invalid_exact_evm_payload_signature",
]);

/** Returns whether the payer's key did sign a payment: the reference rejects every signature while its node is unresponsive. */
async function isContradicted(
  answered: string | undefined,
  { payload, accepted }: PaymentPayload,
  requirements: PaymentRequirements,
): Promise<boolean> {
  const scheme = ofSignature.has(answered) && schemes.find(({ name }) => name === requirements.scheme);
  if (!scheme) return false;
  const payment = scheme.read(payload, "seller");
  const { isSignedByKey } = await scheme.settling();
  return (await isSignedByKey?.({ payment, requirements, accepted, extensions: {} })) === true;
}

const isDown: ReadonlySet<FacilitationErrorCode> = new Set(["unreachable", "failed", "unknown"]);

/**
 * Puts the key into X-API-Key if the URL has credentials, which are for a proxy in front of the facilitator and need the Authorization
 * header.
 */
function buildKeyHeader(apiKey: Secret, isAuthorized: boolean): RequestHeaders {
  const key = apiKey.reveal();
  return isAuthorized ? { "X-API-Key": key } : { Authorization: `Bearer ${key}` };
}

/** Returns whether a body rejects a payment with a reason; `x402/payment-result.ts` lists which reasons are a facilitator's own faults. */
function isRejection(body: unknown): boolean {
  const { isValid, invalidReason, success, errorReason } = body as Partial<VerifyResponse & SettleResponse>;
  return (isValid === false && Boolean(invalidReason)) || (success === false && Boolean(errorReason));
}

/** 400, and 422 from frameworks that distinguish bad syntax from bad content, mean that the payment is malformed. */
function nameFault(status: number): FacilitationErrorCode {
  if (status >= 500) return "failed";
  return status === 400 || status === 422 ? "rejected" : "denied";
}

function buildRequestBody(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements) {
  return { x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements };
}
