import { setTimeout as pause } from "node:timers/promises";
import { decodePaymentResponseHeader } from "@x402/core/http";
import type { SettleResponse } from "@x402/core/types";
import type { PaymentEvent } from "./payment-event.ts";

/** The shape of the global `fetch`. */
export type Fetch = typeof globalThis.fetch;

/** Time limits of {@link repeatingFetch}. */
export type RepeatingFetchOptions = Readonly<{
  /** Of one request, its body included. */
  requestTimeoutMs: number;
  /** Of all attempts to learn one payment's outcome. */
  outcomeTimeoutMs: number;
}>;

const pauseMsMin = 250;
const pauseMsMax = 5_000;

/**
 * Makes a `fetch` with a deadline that sends a request with PAYMENT-SIGNATURE again, unchanged, while its outcome is unknown: the
 * connection broke, the payment is still worked on (409), its settlement is pending (202), or the server is busy (503). The
 * token takes an authorization once (EIP-3009), so that this can't charge twice; without it a charged client might get nothing.
 */
export function repeatingFetch(
  options: RepeatingFetchOptions,
  { fetch, onEvent }: Readonly<{ fetch: Fetch; onEvent: (event: PaymentEvent) => void }>,
): Fetch {
  const once = (request: Request): Promise<Response> =>
    fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(options.requestTimeoutMs)]) });

  async function untilKnown(request: Request): Promise<Response> {
    const deadline = Date.now() + options.outcomeTimeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const result = await attemptOf(once(request.clone()), request.signal);
      const timeLeftMs = deadline - Date.now();
      if (result.response !== undefined && (result.reason === undefined || timeLeftMs <= 0)) {
        onEvent({
          type: "payment-response",
          status: result.response.status,
          settlement: settlementOf(result.response),
        });
        return result.response;
      }
      if (timeLeftMs <= 0) throw result.error;
      onEvent({ type: "payment-repeated", attempt, reason: result.reason ?? "the outcome is unknown" });
      await result.response?.body?.cancel();
      await pause(Math.min(pauseMsOf(result.response), timeLeftMs), undefined, { signal: request.signal });
    }
  }

  return async (input, init) => {
    const request = new Request(input, init);
    return request.headers.has("PAYMENT-SIGNATURE") ? untilKnown(request) : once(request);
  };
}

type Attempt = Readonly<{ response?: Response; error?: unknown; reason?: string | undefined }>;

async function attemptOf(work: Promise<Response>, signal: AbortSignal): Promise<Attempt> {
  try {
    const response = await work;
    return { response, reason: unknownBecause(response) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { error, reason: `no answer (${error instanceof Error ? error.message : String(error)})` };
  }
}

function unknownBecause(response: Response): string | undefined {
  if (response.status === 202 && settlementOf(response)?.errorReason === "settlement_pending") {
    return "the settlement is pending";
  }
  if (!response.headers.has("Retry-After")) return undefined;
  if (response.status === 409) return "the server still works on this payment";
  if (response.status === 503) return "the server is busy";
  return undefined;
}

function pauseMsOf(response: Response | undefined): number {
  const seconds = Number(response?.headers.get("Retry-After") ?? "0");
  return Math.min(Math.max(Number.isFinite(seconds) ? seconds * 1_000 : 0, pauseMsMin), pauseMsMax);
}

function settlementOf(response: Response): SettleResponse | undefined {
  const header = response.headers.get("PAYMENT-RESPONSE");
  if (header === null) return undefined;
  try {
    return decodePaymentResponseHeader(header);
  } catch {
    // A server's broken header is no reason to lose its response, which may have been paid.
    return undefined;
  }
}
