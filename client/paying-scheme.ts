import type { PaymentPayload, PaymentRequirements, SchemeNetworkClient } from "@x402/core/types";
import type { ClientEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { exact } from "#x402/exact.ts";
import type { SignedAuthorization } from "./payment-event.ts";

/** What a client does by a scheme. */
export type PayingScheme = Readonly<{
  /** As offers name it, e.g. `exact`. */
  name: string;
  /** Says why an offer by the scheme is not paid, whatever the limits are, if so. */
  objectionTo(offer: PaymentRequirements): string | undefined;
  /** Signs payments of an account, in the form that the SDK's client takes. */
  signer(account: ClientEvmSigner): SchemeNetworkClient;
  /** What a signed payload authorizes. */
  authorization(payload: PaymentPayload["payload"]): SignedAuthorization;
}>;

/** Pays by EIP-3009 after the work was offered; anything else that goes by the name `exact` is not paid. */
const payExact: PayingScheme = {
  name: exact.name,
  objectionTo({ extra }) {
    const method = extra?.["assetTransferMethod"] ?? "eip3009";
    if (method !== "eip3009") return `transfer method "${String(method)}" is not EIP-3009`;
    const flow = extra?.["paymentFlow"] ?? "authorization";
    return flow === "authorization" ? undefined : `payment flow "${String(flow)}" is not "authorization"`;
  },
  signer: (account) => new ExactEvmScheme(account),
  authorization: (payload) => (payload as { authorization: SignedAuthorization }).authorization,
};

/** The schemes that are paid by. */
export const payingSchemes: readonly PayingScheme[] = [payExact];
