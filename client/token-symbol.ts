import type { PaymentEvent } from "./payment-event.ts";
import { toPlainText } from "./plain-text.ts";
import { TokenReadError, type TokenLocation, type TokenReader } from "./token-reader.ts";

/** Reads a token's symbol from its contract, as one line of plain text; returns null and emits an event if the chain does not respond. */
export async function readSymbol(
  token: TokenLocation,
  { tokens, onEvent }: Readonly<{ tokens: TokenReader; onEvent: (event: PaymentEvent) => void }>,
): Promise<string | null> {
  try {
    return toPlainText(await tokens.symbol(token));
  } catch (error) {
    if (!(error instanceof TokenReadError)) throw error;
    onEvent({ type: "chain-unread", reason: error.message });
    return null;
  }
}
