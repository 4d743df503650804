import type { ClientEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch";
import { choosePayment, type AllowedAsset } from "./payment-choice.ts";
import type { PaymentEvent, SignedAuthorization } from "./payment-event.ts";
import { repeatingFetch, type Fetch } from "./repeating-fetch.ts";
import { createSpendingBudget } from "./spending-budget.ts";
import { parseTokenAmount } from "./token-amount.ts";

export type { PaymentEvent } from "./payment-event.ts";
export { PaymentRefusedError } from "./payment-refused.ts";
export type { Fetch } from "./repeating-fetch.ts";

/** How a paying fetch may spend. Amounts are dollars (`"$0.01"`) or the token's smallest units (`"10000"`). */
export type PayingFetchOptions = Readonly<{
  /** Account that pays, e.g. viem's `privateKeyToAccount(key)`. */
  account: ClientEvmSigner;
  /** Tokens that may be spent, and so the networks; nothing else is paid, the SDK's default tokens included. */
  assets: readonly AllowedAsset[];
  /** Largest single payment. */
  maxPerPayment: string;
  /** Largest sum of all payments that this fetch signs. */
  maxTotal: string;
  /** Longest validity of a signed payment; default 3600. */
  maxValiditySeconds?: number;
  /** How long one request may take, its body included; default 60000. */
  requestTimeoutMs?: number;
  /** How long a payment whose outcome is unknown is sent again; default 120000. */
  outcomeTimeoutMs?: number;
}>;

/** What a paying fetch works with. */
export type PayingFetchDependencies = Readonly<{
  /** Default: the global one. */
  fetch?: Fetch;
  /** Told about each step of each payment. */
  onEvent?: (event: PaymentEvent) => void;
}>;

/**
 * Makes a `fetch` that answers 402 by paying (x402 version 2, scheme `exact`, EIP-3009). A paid request that breaks off or whose
 * settlement is pending is sent again with the same payment, which can charge only once.
 *
 * @throws {TokenAmountError} at once, when a cap is no amount. The returned fetch throws {@link PaymentRefusedError} when the
 * offer is outside of the limits (nothing was signed), and what `fetch` throws.
 *
 * @example
 * const fetch = payingFetch({
 *   account: privateKeyToAccount(key),
 *   assets: [{ network: "eip155:1672", address: token }],
 *   maxPerPayment: "$0.05",
 *   maxTotal: "$1",
 * });
 * const response = await fetch("http://127.0.0.1:4021/data");
 */
export function payingFetch(options: PayingFetchOptions, dependencies: PayingFetchDependencies = {}): Fetch {
  const { fetch = globalThis.fetch, onEvent = () => undefined } = dependencies;
  const budget = createSpendingBudget(parseTokenAmount(options.maxTotal));
  const limits = {
    assets: options.assets,
    maxPerPayment: parseTokenAmount(options.maxPerPayment),
    maxValiditySeconds: options.maxValiditySeconds ?? 3_600,
  };
  const timeouts = {
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    outcomeTimeoutMs: options.outcomeTimeoutMs ?? 120_000,
  };

  return async (input, init) => {
    let chosen: PaymentRequirements | undefined;
    // The SDK asks for a choice after the hook below has made it, or has thrown.
    const client = new x402Client((_version, accepts) => accepts.find((offer) => offer === chosen) ?? unchosen());
    client.register("eip155:*", new ExactEvmScheme(options.account));
    client.setSpendControls(false);
    client.onAfterPaymentCreation(async ({ paymentPayload }) => onEvent(signedEvent(paymentPayload)));
    const httpClient = new x402HTTPClient(client).onPaymentRequired(async ({ paymentRequired, requestUrl }) => {
      onEvent({ type: "payment-required", url: requestUrl, paymentRequired });
      chosen = choosePayment(paymentRequired, limits);
      budget.take(BigInt(chosen.amount));
    });
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const repeating = repeatingFetch({ ...timeouts, signal }, { fetch, onEvent });
    return wrapFetchWithPayment(repeating, httpClient)(input, init);
  };
}

function unchosen(): never {
  throw new TypeError("the SDK does not offer the payment that was chosen");
}

function signedEvent({ accepted, payload }: PaymentPayload): PaymentEvent {
  const { authorization } = payload as { authorization: SignedAuthorization };
  return { type: "payment-signed", accepted, authorization };
}
