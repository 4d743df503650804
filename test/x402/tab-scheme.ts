import { createHash } from "node:crypto";
import { z } from "zod";
import type { SettlingScheme } from "#facilitator/schemes/settling-scheme.ts";
import { priceToAmount } from "#resource-server/routes/price.ts";
import type { SellingScheme } from "#resource-server/routes/selling-scheme.ts";
import type { PayingScheme } from "#client/paying-scheme.ts";
import { parsePart } from "#x402/malformed-payment-error.ts";
import { validUnless } from "#x402/answer.ts";
import { reason } from "#x402/reason.ts";
import type { Scheme } from "#x402/scheme.ts";

const tabPayload = z.object({ account: z.string(), line: z.string(), word: z.string() });

/** A payment that is written on a tab: nothing of it is like a signed transfer. */
type TabPayment = Readonly<z.output<typeof tabPayload>>;

/** A scheme that was made up: an account pays by a line on its tab, and a word that only it knows. Counts how often one is read. */
export function createTabScheme(): Readonly<{ tab: Scheme<TabPayment>; reads: () => number }> {
  let reads = 0;
  return {
    reads: () => reads,
    tab: {
      name: "tab",
      read(payload) {
        reads += 1;
        return parsePart(tabPayload, payload, "");
      },
      key: ({ account, line }, { network, asset }) => ({
        network,
        asset: asset.toLowerCase(),
        payer: account,
        nonce: `line-${line}`,
      }),
      digest: (payment) => createHash("sha256").update(Object.values(payment).join("\n")).digest("hex"),
      expiresAt: () => 4_000_000_000,
    },
  };
}

/** Its facilitator: whoever knows the word may write what the requirements ask for. */
export function settleTab(tab: Scheme<TabPayment>, word: string): SettlingScheme<TabPayment> & { written: string[] } {
  const written: string[] = [];
  const refusalOf = (payment: TabPayment) =>
    payment.word === word ? undefined : { reason: reason.signature, message: "that is not the word." };
  return {
    written,
    scheme: tab,
    refusePayload: () => undefined,
    verify: async ({ payment }) => ({ answer: validUnless(refusalOf(payment)), payer: payment.account }),
    async settle({ payment, requirements }) {
      const refusal = refusalOf(payment);
      if (refusal !== undefined) return { answer: { state: "refused", refusal }, payer: payment.account };
      const { nonce } = tab.key(payment, requirements);
      written.push(`${payment.account} ${nonce} ${requirements.amount}`);
      return { answer: { state: "settled", transaction: `0x${"7a".repeat(32)}` }, payer: payment.account };
    },
  };
}

/** Its seller: twice the price, for the wait. */
export function sellByTab(tab: Scheme<TabPayment>): SellingScheme {
  return {
    scheme: tab,
    quote: async (price, { address }) => ({
      amount: String(2n * BigInt(priceToAmount(price))),
      asset: address,
      extra: { tab: "open" },
    }),
  };
}

/** Its client, which writes one line after another. */
export function payByTab(word: string): PayingScheme {
  let line = 0;
  return {
    name: "tab",
    objectionTo: ({ extra }) => (extra["tab"] === "open" ? undefined : "the tab is closed"),
    signer: () => ({
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
  };
}
