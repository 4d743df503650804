import { hash } from "node:crypto";
import { z } from "zod";
import { answerValidUnless } from "#x402/answer.ts";
import { parsePart } from "#x402/malformed-payment-error.ts";
import { convertPriceToAmount } from "#x402/price.ts";
import { reason } from "#x402/reason.ts";
import type { Scheme } from "#x402/scheme.ts";

const tabPayload = z.object({ account: z.string(), line: z.string(), word: z.string() });

/** A payment that is written on a tab: nothing of it is like a signed transfer. */
type TabPayment = Readonly<z.output<typeof tabPayload>>;

/** A scheme, what its facilitator has written on the tab, and how often one of its payments was read. */
export type TabScheme = Readonly<{ tab: Scheme<TabPayment>; written: readonly string[]; reads: () => number }>;

/**
 * Creates a scheme that was made up: an account pays by a line on its tab, and a word that only it knows. A seller requests twice the price, for the
 * wait; a client writes one line after another; a facilitator lets whoever knows the word write what the requirements ask for.
 */
export function createTabScheme(word: string): TabScheme {
  let reads = 0;
  let line = 0;
  const written: string[] = [];
  const refusalOf = (payment: TabPayment) =>
    payment.word === word ? undefined : { reason: reason.signature, message: "that is not the word." };
  const tab: Scheme<TabPayment> = {
    name: "tab",
    read(payload) {
      reads += 1;
      return parsePart(tabPayload, payload, "");
    },
    key: ({ account, line: number }, { network, asset }) => ({
      network,
      asset: asset.toLowerCase(),
      payer: account,
      nonce: `line-${number}`,
    }),
    digest: (payment) => hash("sha256", Object.values(payment).join("\n")),
    expiresAt: () => 4_000_000_000,
    quote: async (price, { address }) => ({
      amount: String(2n * BigInt(convertPriceToAmount(price))),
      asset: address,
      extra: { tab: "open" },
    }),
    objectionTo: ({ extra }) => (extra["tab"] === "open" ? undefined : "the tab is closed"),
    signer: async () => ({
      scheme: "tab",
      createPaymentPayload: async (x402Version) => {
        line += 1;
        return { x402Version, payload: { account: "alice", line: String(line), word } };
      },
    }),
    authorization: ({ account, line: nonce }) => ({
      from: String(account),
      to: "the seller",
      value: "20000",
      validAfter: "0",
      validBefore: "4000000000",
      nonce: String(nonce),
    }),
    settling: async () => ({
      refusePayload: () => undefined,
      kinds: () => [{}],
      verify: async ({ payment }) => ({ answer: answerValidUnless(refusalOf(payment)), payer: payment.account }),
      async settle({ payment, requirements }) {
        const refusal = refusalOf(payment);
        if (refusal !== undefined) return { answer: { state: "refused", refusal }, payer: payment.account };
        const { nonce } = tab.key(payment, requirements);
        written.push(`${payment.account} ${nonce} ${requirements.amount}`);
        return { answer: { state: "settled", transaction: `0x${"7a".repeat(32)}` }, payer: payment.account };
      },
    }),
  };
  return { tab, written, reads: () => reads };
}
