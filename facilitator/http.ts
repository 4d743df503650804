import type { Context } from "hono";
import type { SettleResponse, VerifyResponse } from "@x402/core/types";
import { Counter, type Registry } from "prom-client";
import { FairSlots } from "#daemon/fair-shares.ts";
import { createBoundedLog, type BoundedLog } from "#daemon/log/bounded-log.ts";
import type { App, AppVariables } from "#daemon/http/app.ts";
import { describeEncodedBody, isUnencoded } from "#daemon/http/held-body.ts";
import type { JsonResponse, JsonPost, JsonPostHandlers } from "#daemon/http/json-posts.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { formatTraceInfo } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { identifySeller, type ApiKeys } from "./callers/api-keys.ts";
import { countCaller, findNetwork, readIdempotencyKey, type CallerInfo, OverloadError } from "./callers/caller.ts";
import { AbandonedError, ChainError } from "./chain/chain-error.ts";
import type { Facilitator } from "./facilitator.ts";
import { MalformedPaymentError } from "#x402/fields.ts";
import { reason } from "#x402/reason.ts";
import { termsCheckHeader } from "#x402/envelope.ts";

export type RouteDependencies = Readonly<{
  facilitator: Pick<Facilitator, "verify" | "settle" | "supported">;
  apiKeys: ApiKeys | undefined;
  log: Logger;
}>;

type Operation = "verify" | "settle";

const busyRetrySeconds = 1;

/** Adds `GET /supported` and `GET /health` (specification, "x402 facilitator"). */
export function addFacilitatorRoutes(app: App, { facilitator, apiKeys }: Omit<RouteDependencies, "log">): void {
  app.get("/supported", (c: Context<AppVariables>) => {
    // The supported kinds are not secret; the check lets a seller detect a wrong key before the first sale.
    const knownSeller = identifySeller(apiKeys, (name) => c.req.header(name));
    if (knownSeller.ok || knownSeller.key === "missing") return c.json(facilitator.supported());
    const { body, headers } = rejectKey(knownSeller.key);
    return c.json(body, 401, headers);
  });
  app.get("/health", (c) => c.json({ status: "ok" }));
}

/**
 * Creates the handlers of `POST /verify` and `POST /settle`. A verdict about a payment is 200; everything else is an error status with
 * `{error}`, so that a chain failure can't be mistaken for a verdict.
 */
export function createPaymentPosts(dependencies: RouteDependencies): JsonPostHandlers {
  const routeDependencies = { ...dependencies, lines: createBoundedLog(dependencies.log) };
  return {
    "/verify": (post) => handleRequest(post, "verify", routeDependencies),
    "/settle": (post) => handleRequest(post, "settle", routeDependencies),
  };
}

async function handleRequest(
  post: JsonPost,
  operation: Operation,
  { facilitator, apiKeys, lines }: RouteDependencies & Readonly<{ lines: BoundedLog }>,
): Promise<JsonResponse> {
  const knownSeller = identifySeller(apiKeys, post.header);
  if (!knownSeller.ok) return rejectKey(knownSeller.key);
  const contentType = post.header("content-type") ?? "";
  if (!jsonType.test(contentType)) {
    const receivedType = contentType === "" ? "no Content-Type" : `Content-Type "${contentType}"`;
    return { status: 415, body: { error: `${receivedType}; send JSON with Content-Type: application/json` } };
  }
  const encoding = post.header("content-encoding");
  if (!isUnencoded(encoding)) {
    return { status: 415, body: { error: describeEncodedBody(encoding) }, headers: { "Accept-Encoding": "identity" } };
  }
  const text = await post.readText();
  if (text === undefined) {
    const error = "too many requests are being read; retry in a few seconds";
    return { status: 503, body: { error }, headers: { "Retry-After": String(busyRetrySeconds) } };
  }
  const { trace: request, address, signal } = post;
  try {
    const { paymentPayload, paymentRequirements } = readBody(text);
    const { seller } = knownSeller;
    const idempotencyKey = readIdempotencyKey(post.header("idempotency-key"));
    const isTermsCheck = post.header(termsCheckHeader.toLowerCase()) !== undefined;
    const caller = { seller, idempotencyKey, isTermsCheck, request, address, signal };
    const verdict = await facilitator[operation]({ paymentPayload, paymentRequirements }, caller);
    logRejection(verdict, caller, lines);
    return { status: 200, body: verdict };
  } catch (error) {
    const { status, message } = describeError(error);
    const of = { operation, ...formatTraceInfo(request) };
    if (error instanceof ChainError)
      lines.warn({ event: "verdict-without-chain", problem: message, ...of }, "no verdict from the chain");
    else if (error instanceof StoreError)
      lines.warn({ event: "verdict-without-ledger", err: error, ...of }, "the ledger is not available");
    else if (status === 500) lines.error({ event: "verdict-failed", err: error, ...of }, "no verdict");
    const isBusy = status === 503 || status === 429;
    const retrySeconds = error instanceof OverloadError ? error.retrySeconds : busyRetrySeconds;
    return { status, body: { error: message }, ...(isBusy && { headers: { "Retry-After": String(retrySeconds) } }) };
  }
}

/** Logs a payment for which nothing was sent; other settlements are logged with their results (`transfers.ts`). */
function logRejection(verdict: VerifyResponse | SettleResponse, caller: CallerInfo, lines: BoundedLog): void {
  const isVerdict = "isValid" in verdict;
  const [rejection, cause] = isVerdict
    ? [verdict.invalidReason, verdict.invalidMessage]
    : [verdict.errorReason, verdict.errorMessage];
  if (rejection === undefined || rejection === reason.pending || rejection === reason.duplicate) return;
  if (caller.isTermsCheck === true || (!isVerdict && verdict.transaction !== "")) return;
  const [operation, name] = [isVerdict ? "verify" : "settle", countCaller(caller)];
  const facts = { operation, reason: rejection, cause, payer: verdict.payer, caller: name };
  const trace = caller.request && formatTraceInfo(caller.request);
  lines.info({ event: "payment-rejected", ...facts, ...trace }, "payment rejected", name);
}

const jsonType = /^application\/json *(;|$)/i;

function rejectKey(key: "missing" | "wrong") {
  const error = `the API key is ${key}; send one of this facilitator's: Authorization: Bearer <key>`;
  return { status: 401, body: { error }, headers: { "WWW-Authenticate": "Bearer" } } as const;
}

function readBody(text: string): Readonly<{ paymentPayload: unknown; paymentRequirements: unknown }> {
  const json = parseJson(text);
  const expected = "expected an object with paymentPayload and paymentRequirements";
  if (json === undefined) throw new MalformedPaymentError("body", `is not JSON; ${expected}`);
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new MalformedPaymentError("body", expected);
  const { x402Version = 2, paymentPayload, paymentRequirements } = json as Record<string, unknown>;
  // A body of another x402 version contains a payment of that version.
  return { paymentPayload: x402Version === 2 ? paymentPayload : { x402Version }, paymentRequirements };
}

function describeError(error: unknown): Readonly<{ status: number; message: string }> {
  if (error instanceof MalformedPaymentError) return { status: 400, message: error.message };
  if (error instanceof OverloadError) return error;
  if (error instanceof StoreError) {
    // The driver's message includes server and user names, which only the operator may see.
    return { status: 503, message: "the ledger is not available now; resend the same payment in a few seconds" };
  }
  if (error instanceof AbandonedError) return { status: 503, message: error.message };
  if (error instanceof ChainError) return { status: 500, message: error.message };
  return { status: 500, message: "internal error" };
}

/**
 * Limits concurrent verifications on each network, shared fairly between callers, so that a hanging node does not use up other networks'
 * slots. Calls over the limit do nothing and fail with an {@link OverloadError}.
 */
export function limitVerifications<Request extends Readonly<{ paymentRequirements: unknown }>, Verdict>(
  { inFlightMax, networks }: Readonly<{ inFlightMax: number; networks: readonly Readonly<{ network: string }>[] }>,
  verify: (request: Request, caller: CallerInfo) => Promise<Verdict>,
  { metrics }: Readonly<{ metrics: Registry }>,
): typeof verify {
  const networkSlots = networks.map(({ network }) => ({ network, slots: new FairSlots(inFlightMax) }));
  const unservedSlots = { slots: new FairSlots(inFlightMax) };
  const rejectionCounter = new Counter({
    name: "gatehouse_facilitator_verifications_rejected_total",
    help: "/verify calls rejected because too many were in flight, by limit: of one seller, or of all.",
    labelNames: ["bound"],
    registers: [metrics],
  });
  for (const bound of ["seller", "all"]) rejectionCounter.inc({ bound }, 0);
  return async (request, caller) => {
    const { slots } = findNetwork(request.paymentRequirements, networkSlots) ?? unservedSlots;
    const entry = slots.enter(countCaller(caller));
    if (!entry.ok) {
      const isOfCaller = entry.full === "caller";
      rejectionCounter.inc({ bound: isOfCaller ? "seller" : "all" });
      const what = isOfCaller
        ? "too many of your payments are being verified"
        : `${slots.max} payments are being verified, which is the limit`;
      throw new OverloadError(isOfCaller ? 429 : 503, `${what}; retry in a few seconds`);
    }
    using _slot = entry.slot;
    return await verify(request, caller);
  };
}
