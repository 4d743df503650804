/** Name of the x402 extension for Permit2 approvals that the facilitator submits (EIP-2612). */
export const sponsoringExtension = "eip2612GasSponsoring";

const text = (pattern: string) => ({ type: "string", pattern });
const address = text("^0x[a-fA-F0-9]{40}$");
const number = text("^[0-9]+$");
const properties = {
  from: address,
  asset: address,
  spender: address,
  amount: number,
  nonce: number,
  deadline: number,
  signature: text("^0x[a-fA-F0-9]+$"),
  version: text("^[0-9]+(\\.[0-9]+)*$"),
};

/** Extension as offered by a seller in PAYMENT-REQUIRED; the buyer fills in its approval. */
export const offeredSponsoring: Readonly<Record<string, unknown>> = {
  [sponsoringExtension]: {
    info: { description: "A signed EIP-2612 approval of Permit2 is submitted with the payment.", version: "1" },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties,
      required: Object.keys(properties),
    },
  },
};
