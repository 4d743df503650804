import { hash } from "node:crypto";
import { readSettleState, readVerifyState } from "#x402/answer.ts";
import type { SaleOutcome } from "#resource-server/sale/sale-outcome.ts";
import { requirements, signOffer, wallets, type SignedOffer, type Wallet } from "./payments.ts";
import type { Operations, Selling } from "./services.ts";
import { request, type Service, type World } from "./world.ts";

/** Something that a buyer wants to have once, and the payments that it signs for it, each after the one before was refused. */
export type Purchase = {
  readonly name: string;
  readonly wallet: Wallet;
  readonly offers: readonly SignedOffer[];
  /** Whether nothing can be wrong with its first payment, however long it takes. */
  readonly isGood: boolean;
  /** Payment for which it got what it wants. */
  sold: SignedOffer | undefined;
  /** Reason of the last refusal. */
  refused: string | undefined;
};

/** What a seller's answer means to its buyer. */
type Verdict = Readonly<{ kind: "sold" } | { kind: "refused"; reason: string } | { kind: "again"; reason: string }>;

/** Sends a payment once. Throws when no answer arrives. */
export type Ask = (offer: SignedOffer, buyer: string) => Promise<Verdict>;

export function drawPurchases({ time: { pick, chance, random }, weather }: World): Purchase[] {
  return Array.from({ length: 3 + Math.floor(random() * 5) }, (_, index) => {
    const wallet = pick(wallets) ?? "rich";
    const validSeconds = pick([300, 300, 45, 80]) ?? 300;
    const identifier = chance(0.3) ? `purchase-number-${index}` : undefined;
    const isRival = chance(0.1);
    const offers = [0, 1].map((which) =>
      signOffer({ wallet, number: 10 * index + (isRival ? 0 : which), validSeconds: validSeconds - which, identifier }),
    );
    const isGood = wallet.startsWith("rich") && validSeconds === 300 && !weather.hasAdversary;
    return { name: `purchase ${index}`, wallet, offers, isGood, sold: undefined, refused: undefined };
  });
}

/** Buys, until it has what it wants or all its payments are refused. */
export async function buy(purchase: Purchase, ask: Ask, world: World): Promise<void> {
  const { time, isUnrest, note } = world;
  const { name, offers } = purchase;
  const { pause, random, chance } = time;
  await pause(random() * 30_000);
  for (const [which, offer] of offers.entries()) {
    for (;;) {
      // An impatient client sends copies, and acts on each refusal.
      const copies = isUnrest() && chance(0.2) ? 3 : 1;
      const answers = Array.from({ length: copies }, () =>
        ask(offer, name).catch((error: unknown) => toNoAnswer(error, world)),
      );
      const verdicts = await Promise.all(answers);
      const verdict =
        verdicts.find(({ kind }) => kind === "sold") ?? verdicts.find(({ kind }) => kind === "refused") ?? verdicts[0];
      if (verdict === undefined) throw new TypeError("no verdict");
      note(`${name}, payment ${which}: ${verdict.kind}${"reason" in verdict ? ` (${verdict.reason})` : ""}`);
      if (verdict.kind === "sold") {
        purchase.sold = offer;
        return;
      }
      if (verdict.kind === "refused") {
        purchase.refused = verdict.reason;
        break;
      }
      await pause(isUnrest() && chance(0.05) ? 60_000 : 200 + random() * 3_000);
    }
  }
}

/** Errors by which a call fails that is to be sent again. */
const expected = new Set(["NotReachedError", "ConnectionLostError", "ChainError", "StoreError", "OverloadError"]);

function toNoAnswer(error: unknown, { report }: Pick<World, "report">): Verdict {
  const { name, stack } = error as Error;
  if (!expected.has(name)) report(`a request fails: ${stack}`);
  return { kind: "again", reason: name };
}

/** Buys from a seller of its own, which calls the facilitator and remembers its idempotency key. */
export function askFacilitator(service: Service<Operations>, world: World): Ask {
  return async ({ payment }, buyer) => {
    const call = { paymentPayload: payment.read.sent, paymentRequirements: requirements };
    const caller = { idempotencyKey: hash("sha256", `${buyer} ${payment.digest}`) };
    const verified = await request(service, world, ({ verify }) => verify(call, caller));
    if (readVerifyState(verified) === "refused") return { kind: "refused", reason: verified.invalidReason ?? "" };
    const settled = await request(service, world, ({ settle }) => settle(call, caller));
    const state = readSettleState(settled);
    const reason = settled.errorReason ?? "";
    if (state === "settled") return { kind: "sold" };
    return { kind: state === "refused" ? "refused" : "again", reason };
  };
}

/** Buys from the resource server. */
export function askResourceServer(service: Service<Selling>, world: World): Ask {
  const { time, isUnrest, weather } = world;
  const isLost = () => isUnrest() && time.chance(weather.networkFaultRate);
  return (offer, buyer) =>
    request(service, world, async ({ sell }) => {
      const fingerprint = hash("sha256", buyer);
      const outcome = await sell(offer, { requirements, route: "GET /sold", fingerprint, client: buyer });
      if (outcome.kind !== "sold") return judge(outcome);
      const [isSent, isReceived] = [!isLost(), !isLost()];
      if (isSent) await outcome.delivery.delivered();
      else await outcome.delivery.undelivered();
      if (new TextDecoder().decode(outcome.response.body) !== `sold for ${offer.nonce}`)
        return { kind: "refused", reason: "another purchase's response" };
      return isSent && isReceived ? { kind: "sold" } : { kind: "again", reason: "the response is lost" };
    });
}

/** Interprets an answer as `payment-answers.ts` words it: 402 asks for another payment; every other answer allows the same one. */
function judge(outcome: Exclude<SaleOutcome, { kind: "sold" }>): Verdict {
  if (outcome.kind === "invalid") return { kind: "refused", reason: outcome.reason };
  if (outcome.kind === "other-request") return { kind: "refused", reason: outcome.kind };
  return { kind: "again", reason: outcome.kind };
}
