import { toSeconds } from "./exact.ts";
import { parsePart } from "./fields.ts";
import {
  describePermit2,
  getPermit2Key,
  getPermit2Schema,
  hashPermit2Payment,
  type Permit2Payment,
} from "./transfer-payload.ts";
import { convertPriceToAmount } from "./price.ts";
import type { Scheme } from "./scheme.ts";

/**
 * Scheme `upto`: the payer permits a maximum with Permit2, and the amount used is settled; nothing if it is zero.
 */
export const upto: Scheme<Permit2Payment> = {
  name: "upto",
  isMax: true,
  read: (payload, audience) => parsePart(getPermit2Schema(audience), payload, ""),
  key: getPermit2Key,
  digest: hashPermit2Payment,
  expiresAt: ({ permit2Authorization: { deadline } }) => toSeconds(deadline),
  quote: async (price, { address, name, version, decimals }) => ({
    amount: convertPriceToAmount(price, decimals),
    asset: address,
    extra: { token: name, name, version },
  }),
  objectionTo: ({ extra }) =>
    typeof extra?.["facilitatorAddress"] === "string" ? undefined : "extra.facilitatorAddress is missing",
  async signer(account) {
    const { UptoEvmScheme } = await import("@x402/evm/upto/client");
    return new UptoEvmScheme(account);
  },
  authorization: (payload) => describePermit2(payload as Permit2Payment),
  settling: async () => (await import("./transfer-settling.ts")).settleUpto,
};
