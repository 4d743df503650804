import type { PaymentRequired, PaymentRequirements, SettleResponse } from "@x402/core/types";
import type { SignedAuthorization } from "#x402/scheme.ts";

/** A step of a payment, in the order in which they happen. */
export type PaymentEvent = Readonly<
  | {
      /** The server answered 402; `paymentRequired` is the decoded PAYMENT-REQUIRED. */
      type: "payment-required";
      url: string;
      paymentRequired: PaymentRequired;
    }
  | {
      /** An offer was chosen and signed; the request goes out again with PAYMENT-SIGNATURE. */
      type: "payment-signed";
      accepted: PaymentRequirements;
      /** Decimals of the token, if they are known. */
      decimals: number | undefined;
      /** Symbol in the token's contract, if the chain was queried and answered; the seller's word is not taken. */
      symbol: string | undefined;
      authorization: SignedAuthorization;
    }
  | {
      /** The chain did not answer with the token's decimals or the account's balance; the payment continues without them if it can. */
      type: "chain-unread";
      reason: string;
    }
  | {
      /** The outcome is not known yet; the same payment is sent again, which can't charge twice. */
      type: "payment-repeated";
      attempt: number;
      reason: string;
    }
  | {
      /** The server answered the paid request; `settlement` is the decoded PAYMENT-RESPONSE, if it sent one. */
      type: "payment-response";
      status: number;
      settlement: SettleResponse | undefined;
    }
>;
