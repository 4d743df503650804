import { setTimeout as pause } from "node:timers/promises";
import { decodePaymentResponseHeader } from "@x402/core/http";
import type { SettleResponse } from "@x402/core/types";
import type { PaymentEvent } from "./payment-event.ts";

export type Fetch = typeof globalThis.fetch;

export type RepeatingFetchOptions = Readonly<{
  requestTimeoutMs: number;
  outcomeTimeoutMs: number;
  /** The caller's own signal: a cloned request's signal stops following it once the intermediate request is garbage-collected. */
  signal: AbortSignal | undefined;
}>;

/** Default timeout of one request. */
export const defaultRequestTimeoutMs = 60_000;
/** Default time within which the outcome of a payment must be known. */
export const defaultOutcomeTimeoutMs = 120_000;

const pauseMsMin = 250;
const pauseMsMax = 5_000;

/** Number of 5xx responses to one payment after which the last response is returned. The caller then decides how to handle a server that keeps failing. */
const serverErrorsMax = 4;

/**
 * Creates a `fetch` with a deadline that resends a request with PAYMENT-SIGNATURE, unchanged, while its outcome is unknown: the connection
 * broke (even within the body), the payment is still being processed (409), its settlement is pending (202), the server is busy (503), or
 * the server or a proxy in front of it failed (5xx, a few times). The token accepts an authorization only once (EIP-3009), so resending
 * can't charge twice. Without resending, a charged client might get nothing.
 */
export function createRepeatingFetch(
  options: RepeatingFetchOptions,
  { fetch, onEvent }: Readonly<{ fetch: Fetch; onEvent: (event: PaymentEvent) => void }>,
): Fetch {
  const chooseSignal = (request: Request): AbortSignal => options.signal ?? request.signal;
  const once = (request: Request): Promise<Response> =>
    fetch(request, { signal: AbortSignal.any([chooseSignal(request), AbortSignal.timeout(options.requestTimeoutMs)]) });

  async function repeatUntilKnown(request: Request): Promise<Response> {
    const deadline = Date.now() + options.outcomeTimeoutMs;
    let serverErrors = 0;
    for (let attempt = 1; ; attempt += 1) {
      const result = await waitForAttempt(once(request.clone()), chooseSignal(request));
      if (result.response !== undefined && isServerError(result.response)) serverErrors += 1;
      const timeLeftMs = deadline - Date.now();
      const isLast = timeLeftMs <= 0 || serverErrors >= serverErrorsMax;
      if (result.response !== undefined && (result.reason === undefined || isLast)) {
        onEvent({
          type: "payment-response",
          status: result.response.status,
          settlement: readSettlement(result.response),
        });
        return result.response;
      }
      if (timeLeftMs <= 0) throw result.error;
      onEvent({ type: "payment-repeated", attempt, reason: result.reason ?? "the outcome is unknown" });
      await result.response?.body?.cancel();
      await pause(Math.min(computePauseMs(result.response), timeLeftMs), undefined, { signal: chooseSignal(request) });
    }
  }

  return async (input, init) => {
    const request = new Request(input, init);
    return request.headers.has("PAYMENT-SIGNATURE") ? repeatUntilKnown(request) : once(request);
  };
}

type Attempt = Readonly<{ response?: Response; error?: unknown; reason?: string | undefined }>;

async function waitForAttempt(work: Promise<Response>, signal: AbortSignal): Promise<Attempt> {
  try {
    const response = await bufferResponse(await work);
    return { response, reason: explainUnknown(response) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { error, reason: `no response (${error instanceof Error ? error.message : String(error)})` };
  }
}

function explainUnknown(response: Response): string | undefined {
  if (response.status === 202 && readSettlement(response)?.errorReason === "settlement_pending") {
    return "the settlement is pending";
  }
  if (isServerError(response)) return `the server returned HTTP ${response.status}`;
  if (!response.headers.has("Retry-After")) return undefined;
  if (response.status === 409) return "the server is still processing this payment";
  if (response.status === 503) return "the server is busy";
  return undefined;
}

/** Returns whether the server failed. 503 with Retry-After is not a failure: the server is working and specifies when to retry. */
function isServerError({ status, headers }: Response): boolean {
  return status >= 500 && !(status === 503 && headers.has("Retry-After"));
}

function computePauseMs(response: Response | undefined): number {
  const seconds = Number(response?.headers.get("Retry-After") ?? "0");
  return Math.min(Math.max(Number.isFinite(seconds) ? seconds * 1_000 : 0, pauseMsMin), pauseMsMax);
}

function readSettlement(response: Response): SettleResponse | undefined {
  const header = response.headers.get("PAYMENT-RESPONSE");
  if (header === null) return undefined;
  try {
    return decodePaymentResponseHeader(header);
  } catch {
    // A malformed header must not cause the loss of a response that may be paid for.
    return undefined;
  }
}

/** Max body size that {@link bufferResponse} reads before it returns the response. */
const keptBytesMax = 67_108_864;

/**
 * Buffers a response's whole body and returns an equivalent response, so that a broken connection is detected here and not in the caller.
 * Streams a body over 64 MiB, because rejecting a paid response would be worse.
 *
 * @throws any error from reading the body.
 */
export async function bufferResponse(response: Response): Promise<Response> {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of body.values({ preventCancel: true })) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > keptBytesMax) break;
  }
  const kept = bytes > keptBytesMax ? ReadableStream.from(joinChunks(chunks, body)) : new Blob(chunks);
  // A Hono server in this process replaces the global `Response` with one that lacks `bytes`.
  const OwnResponse = response.constructor as typeof Response;
  const copy = new OwnResponse(kept, { status, statusText, headers });
  return Object.defineProperties(copy, {
    url: { value: response.url },
    redirected: { value: response.redirected },
  });
}

async function* joinChunks(
  chunks: readonly Uint8Array[],
  rest: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* chunks;
  yield* rest;
}
