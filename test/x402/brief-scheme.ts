import { hash, randomBytes } from "node:crypto";
import type { PaymentRequirements } from "@x402/core/types";
import { authorizationTypes } from "@x402/evm";
import { toHex } from "viem";
import { z } from "zod";
import { evmAddress, parsePart } from "#x402/fields.ts";
import type { Hex } from "#x402/hex.ts";
import { convertPriceToAmount } from "#x402/price.ts";
import { reason } from "#x402/reason.ts";
import type { Order, Scheme, Transfers } from "#x402/scheme.ts";
import { toSignedPayment } from "#x402/signed-payment.ts";
import type { Authorization } from "#x402/typed-data.ts";

const briefPayload = z.object({
  payer: evmAddress,
  until: z.string().regex(/^\d{1,15}$/, "expected Unix seconds"),
  nonce: z.string().regex(/^0x[0-9a-f]{64}$/, "expected the authorization's nonce"),
  signature: z.string(),
});

type BriefPayment = Readonly<z.output<typeof briefPayload>>;

/** Counts the payments that this process has parsed. */
export const reads = { count: 0 };

/** A made-up scheme: an EIP-3009 transfer that sends only what can't be derived from the offer. */
export const brief: Scheme<BriefPayment> = {
  name: "brief",
  read(payload) {
    reads.count += 1;
    return parsePart(briefPayload, payload, "");
  },
  key: ({ payer, nonce }, { network, asset }) => ({
    network,
    asset: asset.toLowerCase(),
    payer: payer.toLowerCase(),
    nonce,
  }),
  digest: (payment) => hash("sha256", Object.values(payment).join("\n")),
  expiresAt: ({ until }) => Number(until),
  quote: async (price, { address, name, version }) => ({
    amount: convertPriceToAmount(price),
    asset: address,
    extra: { name, version },
  }),
  objectionTo: () => undefined,
  signer: async (account) => ({
    scheme: "brief",
    async createPaymentPayload(x402Version, offer) {
      const { network, asset, extra } = offer;
      const payment = {
        payer: account.address,
        until: String(Math.floor(Date.now() / 1_000) + offer.maxTimeoutSeconds),
        nonce: toHex(randomBytes(32)),
      };
      const signature = await account.signTypedData({
        domain: { ...extra, chainId: Number(network.split(":")[1]), verifyingContract: asset as Hex },
        types: authorizationTypes,
        primaryType: "TransferWithAuthorization",
        message: buildAuthorization(payment, offer),
      });
      return { x402Version, payload: { ...payment, signature } };
    },
  }),
  authorization: ({ payer, until, nonce }) => ({
    from: String(payer),
    to: "the payee in the offer",
    value: "the amount in the offer",
    validAfter: "0",
    validBefore: String(until),
    nonce: String(nonce),
  }),
  settling: async () => ({
    rejectPayload: () => undefined,
    kinds: () => [{}],
    verify: async (order, transfers) => {
      const judged = judge(order, transfers);
      return "result" in judged ? judged : transfers.verify(judged);
    },
    settle: async (order, transfers) => {
      const judged = judge(order, transfers);
      return "result" in judged ? judged : transfers.settle(judged);
    },
  }),
};

function buildAuthorization(
  { payer, until, nonce }: Pick<BriefPayment, "payer" | "until"> & Readonly<{ nonce: string }>,
  { payTo, amount }: PaymentRequirements,
): Authorization {
  const [from, to] = [payer, payTo as Hex];
  return { from, to, value: BigInt(amount), validAfter: 0n, validBefore: BigInt(until), nonce: nonce as Hex };
}

function judge({ payment, requirements }: Order<BriefPayment>, { assets, isSigned, contracts }: Transfers) {
  const authorization = buildAuthorization(payment, requirements);
  const asset = assets.get(requirements.asset.toLowerCase());
  const terms = { authorization, signature: payment.signature, payTo: authorization.to, amount: authorization.value };
  const judged =
    asset === undefined
      ? { reason: reason.requirements, message: "this token is not settled here." }
      : toSignedPayment(terms, { asset, isSigned, contracts });
  if (!("reason" in judged)) return judged;
  return { result: { state: "rejected", rejection: judged }, payer: payment.payer } as const;
}
