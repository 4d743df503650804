import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { createBoundedLog, type BoundedLog } from "#daemon/log/bounded-log.ts";
import type { App, AppVariables } from "#daemon/http/app.ts";
import { readHeldBody } from "#daemon/http/held-body.ts";
import { toAddressKey } from "#daemon/http/proxies/client-address.ts";
import { formatTraceInfo } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { identifySeller, type ApiKeys, type KnownSeller } from "./callers/api-keys.ts";
import { readIdempotencyKey } from "./callers/caller.ts";
import { VerificationOverloadError } from "./callers/verification-bound.ts";
import { AbandonedError, ChainError } from "./chain/chain-error.ts";
import type { Facilitator } from "./facilitator.ts";
import { MalformedPaymentError } from "#x402/malformed-payment-error.ts";
import { reason } from "#x402/reason.ts";
import { SellerLimitError } from "./sellers/seller-limit-error.ts";
import { OverloadError } from "./settlement/settlement-bound.ts";

/** Facilitator served over HTTP by the routes. */
export type RouteDependencies = Readonly<{
  facilitator: Pick<Facilitator, "verify" | "settle" | "supported" | "network">;
  /** API keys allowed to verify and settle; undefined allows everyone. */
  apiKeys: ApiKeys | undefined;
  /** Max size of a request body, and max memory for bodies buffered until their response. */
  bodyLimitBytes: number;
  memory: MemoryBudget;
  log: Logger;
}>;

type Operation = "verify" | "settle";

const overloadRetrySeconds = 1;

/**
 * Adds `POST /verify`, `POST /settle`, `GET /supported` and `GET /health` (specification, "x402 facilitator"). A verdict about a payment is
 * 200; everything else is an error status with `{error}`, so that a chain failure can't be mistaken for a verdict.
 */
export function addFacilitatorRoutes(app: App, dependencies: RouteDependencies): void {
  const answering = { ...dependencies, lines: createBoundedLog(dependencies.log) };
  app.post("/verify", (c) => answer(c, "verify", answering));
  app.post("/settle", (c) => answer(c, "settle", answering));
  app.get("/supported", (c) => {
    // The supported kinds are not secret, but a caller with a wrong key learns of it before the first sale.
    const known = readSeller(c, dependencies.apiKeys);
    if (!known.ok && known.key === "wrong") return refuseKey(c, known.key);
    return c.json(dependencies.facilitator.supported());
  });
  app.get("/health", (c) => c.json({ status: "ok" }));
}

async function answer(
  c: Context<AppVariables>,
  operation: Operation,
  { facilitator, apiKeys, bodyLimitBytes, memory, lines }: RouteDependencies & Readonly<{ lines: BoundedLog }>,
): Promise<Response> {
  const known = readSeller(c, apiKeys);
  if (!known.ok) return refuseKey(c, known.key);
  const contentType = c.req.header("Content-Type") ?? "";
  if (!/^application\/json *(;|$)/i.test(contentType)) {
    const found = contentType === "" ? "no Content-Type" : `Content-Type "${contentType}"`;
    return c.json({ error: `${found}; send JSON with Content-Type: application/json` }, 415);
  }
  const { incoming } = c.env as HttpBindings;
  using held = new ConnectionMemory(memory, { address: () => readAddress(c), cut: () => incoming.destroy() });
  const bytes = await readHeldBody(c.req.raw.body, bodyLimitBytes, held);
  if (bytes === undefined) {
    const error = "too many requests are being read; try again in a moment";
    return c.json({ error }, 503, { "Retry-After": String(overloadRetrySeconds) });
  }
  const text = new TextDecoder().decode(bytes);
  const request = { requestId: c.get("requestId"), trace: c.get("trace") };
  try {
    const body = readBody(text);
    if (body.x402Version !== undefined && body.x402Version !== 2) return c.json(refuseVersion(operation, facilitator));
    const { seller } = known;
    const idempotencyKey = readIdempotencyKey(c.req.header("Idempotency-Key"));
    const caller = { seller, idempotencyKey, request, address: readAddress(c), signal: c.req.raw.signal };
    const { paymentPayload, paymentRequirements } = body;
    return c.json(await facilitator[operation]({ paymentPayload, paymentRequirements }, caller));
  } catch (error) {
    const { status, message } = describeError(error);
    const of = { operation, ...formatTraceInfo(request) };
    if (error instanceof ChainError)
      lines.warn({ event: "verdict-without-chain", problem: message, ...of }, "the chain gave no verdict");
    else if (error instanceof StoreError)
      lines.warn({ event: "verdict-without-ledger", err: error, ...of }, "the ledger can't be used");
    else if (status === 500) lines.error({ event: "verdict-failed", err: error, ...of }, "no verdict");
    const retrySeconds = error instanceof SellerLimitError ? error.retrySeconds : overloadRetrySeconds;
    if (status === 503 || status === 429) c.header("Retry-After", String(retrySeconds));
    return c.json({ error: message }, status);
  }
}

function readSeller(c: Context<AppVariables>, apiKeys: ApiKeys | undefined): KnownSeller {
  return identifySeller(apiKeys, (name) => c.req.header(name));
}

function readAddress(c: Context<AppVariables>): string {
  const { remoteAddress } = (c.env as HttpBindings).incoming.socket;
  return toAddressKey(remoteAddress ?? "unknown");
}

function refuseKey(c: Context<AppVariables>, key: "missing" | "wrong"): Response {
  c.header("WWW-Authenticate", "Bearer");
  const error = `the API key is ${key}; send one of this facilitator's: Authorization: Bearer <key>`;
  return c.json({ error }, 401);
}

type Body = Readonly<{ x402Version: unknown; paymentPayload: unknown; paymentRequirements: unknown }>;

function readBody(text: string): Body {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may contain a signature.
    throw new MalformedPaymentError(
      "body",
      "is not JSON; expected an object with paymentPayload and paymentRequirements",
    );
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new MalformedPaymentError("body", "expected an object with paymentPayload and paymentRequirements");
  }
  const { x402Version, paymentPayload, paymentRequirements } = json as Record<string, unknown>;
  return { x402Version, paymentPayload, paymentRequirements };
}

function refuseVersion(operation: Operation, { network }: Pick<Facilitator, "network">) {
  const message = "the body's x402Version is not 2; leave it out or send 2.";
  return operation === "verify"
    ? { isValid: false, invalidReason: reason.version, invalidMessage: message }
    : { success: false, errorReason: reason.version, errorMessage: message, transaction: "", network };
}

function describeError(error: unknown): Readonly<{ status: ContentfulStatusCode; message: string }> {
  if (error instanceof MalformedPaymentError) return { status: 400, message: error.message };
  if (error instanceof VerificationOverloadError) {
    return { status: error.full === "caller" ? 429 : 503, message: error.message };
  }
  if (error instanceof SellerLimitError) return { status: 429, message: error.message };
  if (error instanceof OverloadError) return { status: 503, message: error.message };
  if (error instanceof StoreError) {
    // The driver's message includes server and user names, which only the operator may see.
    return { status: 503, message: "the ledger can't be used now; send the same payment again in a moment" };
  }
  if (error instanceof AbandonedError) return { status: 503, message: error.message };
  if (error instanceof ChainError) return { status: 500, message: error.message };
  return { status: 500, message: "internal error" };
}
