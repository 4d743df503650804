import type { PaymentRequired, PaymentRequirements, SettleResponse } from "@x402/core/types";
import type { SignedAuthorization } from "#x402/scheme.ts";

export type PaymentEvent = Readonly<
  | {
      /** The server returned 402; `paymentRequired` is the decoded PAYMENT-REQUIRED. */
      type: "payment-required";
      url: string;
      paymentRequired: PaymentRequired;
    }
  | {
      /** An offer was chosen and signed; the request is resent with PAYMENT-SIGNATURE. */
      type: "payment-signed";
      accepted: PaymentRequirements;
      /** Whether less than the accepted amount may be charged. */
      isMax: boolean;
      /** Decimals of the token, if known. */
      decimals: number | undefined;
      /** Symbol from the token's contract, never from the seller; undefined if the chain was not queried or did not respond. */
      symbol: string | undefined;
      authorization: SignedAuthorization;
    }
  | {
      /** The chain did not return the token's decimals or the account's balance; if possible, the payment continues without this data. */
      type: "chain-unread";
      reason: string;
    }
  | {
      /** The outcome is still unknown; the same payment is resent, which can't charge twice. */
      type: "payment-repeated";
      attempt: number;
      reason: string;
    }
  | {
      /** The server responded to the paid request; `settlement` is the decoded PAYMENT-RESPONSE, if sent. */
      type: "payment-response";
      status: number;
      settlement: SettleResponse | undefined;
    }
>;
