import { hash } from "node:crypto";
import { readSettleState, readVerifyState } from "#x402/payment-result.ts";
import type { SaleOutcome } from "#resource-server/sale/sale-outcome.ts";
import { signOffer } from "./payments.ts";
import { flaws, type SignedOffer } from "./signed-offers.ts";
import { chainIds, contractWallet, hasApproved, methods, newcomers } from "./wallets.ts";
import { drawUsed, type Operations, type Selling } from "./services.ts";
import { getChain, type VirtualChains } from "./virtual-chain.ts";
import { request, type Callable, type World } from "./world.ts";

/** A purchase that a buyer wants once, and the payments signed for it, each after the previous one was rejected. */
export type Purchase = {
  readonly name: string;
  readonly beginsAfterMs: number;
  readonly wallet: string;
  readonly offers: SignedOffer[];
  /** Whether its first payment must succeed, however long that takes. */
  isGood: boolean;
  /** Whether the buyer disconnected before it knew the outcome, and never returns. */
  hasLeft: boolean;
  /** Payment that bought the purchase, and the amount. */
  sold: Readonly<{ offer: SignedOffer; amount: bigint }> | undefined;
  /** Payment for which another seller delivered. */
  copied?: SignedOffer;
  /** Names of its rejected payments. */
  readonly rejected: Set<string>;
  /** Names of its payments that another client settled, or whose request reached the ledger after it had been rejected. */
  readonly excused: Set<string>;
  /** Reason of the last rejection. */
  lastReason: string | undefined;
};

/** Meaning of a seller's response for its buyer. */
type Verdict = Readonly<
  { kind: "sold"; amount: bigint } | { kind: "rejected"; reason: string } | { kind: "again"; reason: string }
>;

/** Sends a payment once, for a buyer's purchase, from its own client or another. Throws if no response arrives. */
export type Ask = (offer: SignedOffer, buyer: string, client?: string) => Promise<Verdict>;

const usual = ["rich", "rich too", "tight", "empty", "newcomer"];
/** Additional buyers with contract wallets in a run. */
const contracts = Array.from({ length: 3 }, () => contractWallet.name);
const crowd = ["rich", "rich", "rich too", "rich too", "tight", "newcomer"];

export function drawPurchases({ time: { pick, chance, between, random }, weather }: World): Purchase[] {
  // Payments of one kind share transactions.
  const shared = weather.isCrowded && chance(0.7) ? pick(["eip3009", "permit2"] as const) : undefined;
  const below = (count: number) => Math.floor(between(0, count));
  const plain = weather.isCrowded ? crowd : usual;
  const kinds = weather.contractWallets === "none" ? plain : [...plain, ...contracts];
  const purchases: Purchase[] = [];
  const count = weather.isCrowded ? 24 : 3 + Math.floor(random() * 5);
  for (let index = 0; index < count; index += 1) {
    // A rival signs with the authorization nonce of the previous purchase.
    const [rival] = chance(0.15) ? (purchases.at(-1)?.offers ?? []) : [];
    const kind = pick(kinds) ?? "rich";
    const wallet = rival?.signing.wallet ?? (kind === "newcomer" ? (newcomers[index] ?? kind) : kind);
    const method = shared ?? (chance(0.7) ? rival?.signing.method : undefined) ?? pick(methods) ?? "eip3009";
    const approves = method !== "eip3009" && !hasApproved(wallet) && (kind === "newcomer" || chance(0.8));
    const number = rival?.signing.number ?? 10 * index;
    const validSeconds = rival === undefined ? (pick([300, 300, 45, 80]) ?? 300) : rival.signing.validSeconds - 5;
    const identifier = chance(0.3) ? `purchase-number-${index}` : undefined;
    // Less than the maximum of `upto` may be enough.
    const flaw = chance(0.1) ? pick(flaws.filter((each) => each !== "value" || method !== "upto")) : undefined;
    const chain = rival?.signing.chain ?? chainIds[below(weather.chains)] ?? chainIds[0];
    const facilitator = method === "upto" ? below(weather.signers) : 0;
    const signing = { wallet, chain, method, facilitator, identifier, flaw, approval: approves ? 0 : undefined };
    const offers = [0, 1].map((which) =>
      signOffer({ ...signing, number: number + which, validSeconds: validSeconds - which }),
    );
    // A settled payment reveals the token's logs; from then on, other payments may share transactions.
    const part = random();
    const usualMs = weather.isCrowded ? 18_000 * (index % 3) + part * 100 : part * 30_000;
    const previousMs = purchases.at(-1)?.beginsAfterMs ?? 0;
    const beginsAfterMs = rival === undefined ? usualMs : previousMs + part * 2_000;
    const isAble =
      wallet === "rich" ||
      (wallet === contractWallet.name && weather.contractWallets === "steady") ||
      (method === "eip3009" && wallet === "rich too") ||
      (kind === "newcomer" && approves);
    const isGood =
      isAble && validSeconds === 300 && !weather.hasAdversary && !weather.hasSilentToken && flaw === undefined;
    const begun = { name: `purchase ${index}`, beginsAfterMs, wallet, offers, hasLeft: false };
    purchases.push({
      ...begun,
      isGood: isGood && rival === undefined,
      sold: undefined,
      lastReason: undefined,
      rejected: new Set(),
      excused: new Set(),
    });
    const purchaseBefore = purchases.at(-2);
    if (rival !== undefined && purchaseBefore !== undefined) purchaseBefore.isGood = false;
  }
  // A lagging node hides that a payer spends its approval twice; all its payments are then rejected for a while.
  const mayOverspend =
    weather.node.lagging > 0 &&
    purchases.some(
      ({ wallet, offers }) => wallet === "rich too" && offers.some(({ signing }) => signing.method !== "eip3009"),
    );
  if (mayOverspend) for (const purchase of purchases) if (purchase.wallet === "rich too") purchase.isGood = false;
  return purchases;
}

/** Signs a payment again with the approval that the token accepts next. */
function renewApproval({ from, signing }: SignedOffer, chains: VirtualChains): SignedOffer {
  if (signing.approval === undefined) return signOffer(signing);
  const { approvals } = getChain(chains, signing.chain).head().state;
  return signOffer({ ...signing, approval: approvals.get(from) ?? 0 });
}

/** Buys until it has what it wants or all its payments are rejected. */
export async function buy(purchase: Purchase, ask: Ask, world: World, chains: VirtualChains): Promise<void> {
  const { time, isUnrest, note, weather } = world;
  const { name, offers } = purchase;
  const isFickle = weather.contractWallets === "fickle" && purchase.wallet === contractWallet.name;
  const { pause, random, chance } = time;
  await pause(purchase.beginsAfterMs);
  for (const [which, drawn] of offers.entries()) {
    const offer = renewApproval(drawn, chains);
    offers[which] = offer;
    for (;;) {
      // An impatient client sends copies, and acts on each rejection.
      const copies = isUnrest() && chance(0.2) ? 3 : 1;
      const responses = Array.from({ length: copies }, () =>
        ask(offer, name).catch((error: unknown) => toNoAnswer(error, world)),
      );
      const verdicts = await Promise.all(responses);
      const find = (wanted: Verdict["kind"]) => verdicts.find(({ kind }) => kind === wanted);
      // Copies are checked separately: a contract wallet may reject one and accept the next, and so may a facilitator, because another
      // payment may hold the nonce or the balance during only one of the checks. A buyer's own seller settles a confirmed copy,
      // whatever became of the others.
      const mayDiffer = isFickle || weather.seller === "direct";
      const isUncertain = mayDiffer && verdicts.some(({ kind }) => kind !== "rejected");
      const verdict = find("sold") ?? (isUncertain ? find("again") : find("rejected")) ?? verdicts[0];
      if (verdict === undefined) throw new TypeError("no verdict");
      note(`${name}, payment ${which}: ${verdict.kind}${"reason" in verdict ? ` (${verdict.reason})` : ""}`);
      if (verdict.kind === "sold") {
        purchase.sold = { offer, amount: verdict.amount };
        return;
      }
      if (verdict.kind === "rejected") {
        purchase.lastReason = verdict.reason;
        purchase.rejected.add(offer.name);
        break;
      }
      if (isUnrest() && chance(0.01)) {
        note(`${name} goes away`);
        purchase.hasLeft = true;
        return;
      }
      await pause(isUnrest() && chance(0.05) ? 60_000 : 200 + random() * 3_000);
    }
  }
}

/** Errors after which a failed call must be retried. */
const expected = new Set(["NotReachedError", "ConnectionLostError", "ChainError", "StoreError", "OverloadError"]);

/** Interprets an error of a request as retryable. */
export function toNoAnswer(error: unknown, { report }: Pick<World, "report">): Extract<Verdict, { kind: "again" }> {
  const { name, stack } = error as Error;
  if (!expected.has(name)) report(`a request fails: ${stack}`);
  return { kind: "again", reason: name };
}

/** Buys from a buyer's own seller, which calls the facilitator and remembers its idempotency key. */
export function askFacilitator(service: Callable<Operations>, world: World, { verifies = true } = {}): Ask {
  return async (offer, buyer, client = buyer) => {
    const { payment, requirements } = offer;
    const call = { paymentPayload: payment.read.sent, paymentRequirements: requirements };
    // A seller charges once for each purchase.
    const amount = drawUsed(offer, hash("sha256", `${client} ${offer.name}`, "buffer").readUInt8() / 256);
    const caller = { idempotencyKey: hash("sha256", `${client} ${payment.digest}`) };
    // Some sellers settle without verifying.
    const verified =
      verifies && world.time.chance(0.8)
        ? await request(service, world, ({ verify }) => verify(call, caller))
        : undefined;
    if (verified !== undefined && readVerifyState(verified) === "rejected")
      return { kind: "rejected", reason: verified.invalidReason ?? "" };
    const used = { ...call, paymentRequirements: { ...requirements, amount: String(amount) } };
    const settledRequest = await request(service, world, ({ settle }) => settle(used, caller));
    const state = readSettleState(settledRequest);
    const reason = settledRequest.errorReason ?? "";
    if (state === "settled") return { kind: "sold", amount: BigInt(settledRequest.amount ?? amount) };
    return { kind: state === "rejected" ? "rejected" : "again", reason };
  };
}

/** Buys from the resource server. */
export function askResourceServer(service: Callable<Selling>, world: World): Ask {
  const { time, isUnrest, weather } = world;
  const isLost = () => isUnrest() && time.chance(weather.networkFaultRate);
  return (offer, buyer, client = buyer) =>
    request(service, world, async ({ sell }) => {
      const fingerprint = hash("sha256", buyer);
      const { requirements } = offer;
      const outcome = await sell(offer, { requirements, route: "GET /sold", fingerprint, client });
      if (outcome.kind !== "sold") return judge(outcome);
      const [isSent, isReceived] = [!isLost(), !isLost()];
      await outcome.end?.(isSent);
      const [, amount, name] = /^sold for (\d+) by (.*)$/.exec(new TextDecoder().decode(outcome.response.body)) ?? [];
      if (amount === undefined || name !== offer.name)
        return { kind: "rejected", reason: "another purchase's response" };
      if (!isSent || !isReceived) return { kind: "again", reason: "the response is lost" };
      return { kind: "sold", amount: BigInt(amount) };
    });
}

/**
 * Interprets a response as worded in `payment-answers.ts`: 402 requests another payment; every other response allows
 * the same one.
 */
function judge(outcome: Exclude<SaleOutcome, { kind: "sold" }>): Verdict {
  if (outcome.kind === "invalid") return { kind: "rejected", reason: outcome.reason };
  if (outcome.kind === "other-request") return { kind: "rejected", reason: outcome.kind };
  return { kind: "again", reason: outcome.kind };
}
