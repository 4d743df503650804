import type { PaymentRequired } from "@x402/core/types";
import { x402Client, x402HTTPClient } from "@x402/fetch";
import { keptResponse } from "./kept-response.ts";
import type { Fetch } from "./repeating-fetch.ts";

/** What a server answers that is asked without payment: what it wants, or its response where it wants none. */
export type PriceAnswer = Readonly<
  { kind: "price"; paymentRequired: PaymentRequired } | { kind: "free"; response: Response }
>;

/**
 * Asks for a resource once, without payment.
 *
 * @throws {Error} when the server can't be reached, or asks for a payment in no form of x402.
 */
export async function askPrice(
  url: string,
  init: RequestInit,
  { fetch }: Readonly<{ fetch: Fetch }>,
): Promise<PriceAnswer> {
  const response = await keptResponse(await fetch(url, init));
  if (response.status !== 402) return { kind: "free", response };
  const text = await response.text();
  const reader = new x402HTTPClient(new x402Client());
  const paymentRequired = reader.getPaymentRequiredResponse((name) => response.headers.get(name), parsed(text));
  return { kind: "price", paymentRequired };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Only x402 version 1 speaks in the body.
    return undefined;
  }
}
