import { hash } from "node:crypto";
import { reason } from "#x402/reason.ts";
import type { Selling } from "./services.ts";
import { openChannel, signChannelPayment, type MemberChannel } from "./channel-payments.ts";
import type { SignedOffer } from "./signed-offers.ts";
import { chainIds, contractWallet, price } from "./wallets.ts";
import { getChain, type VirtualChains } from "./virtual-chain.ts";
import { request, type Callable, type World } from "./world.ts";
import { toNoAnswer } from "./buyers.ts";

/** Something that a member wants once. */
export type Want = {
  readonly name: string;
  /** Identifies the request to the seller. */
  readonly fingerprint: string;
  readonly identifier: string | undefined;
  /** The amount paid according to the response; undefined until the member has what it asked for. */
  got: bigint | undefined;
  /** Number of times that a response was sent; without an identifier, a client may pay again for a lost response. */
  sent: number;
};

/** Buyer that pays through a channel, one request after the other. */
export type Member = {
  readonly channel: MemberChannel;
  readonly wants: readonly Want[];
  /** Counted by the member; the seller may correct it up to the signed amount. */
  charged: bigint;
  signed: bigint;
  deposits: number;
  hasLeft: boolean;
  /** Whether the uncharged amount was refunded. */
  isRefunded: boolean;
};

/** Number of payments of its price that a deposit covers. */
const depositMultiple = 2n;
/** Max payments that a member signs for one request. */
const paymentsMax = 8;

export function drawMembers({ time: { pick, chance, between }, weather }: World): readonly Member[] {
  const wallets = weather.contractWallets === "none" ? ["rich", "rich too"] : ["rich", contractWallet.name];
  return wallets.map((wallet, number): Member => {
    const channel = openChannel(wallet, pick(chainIds.slice(0, weather.chains)) ?? chainIds[0], number);
    const wants = Array.from({ length: Math.ceil(between(1, 6)) }, (_, index): Want => {
      const name = `request ${index} of ${wallet}`;
      const identifier = chance(0.5) ? `member-${wallet.length}-request-${index}` : undefined;
      return { name, fingerprint: hash("sha256", name), identifier, got: undefined, sent: 0 };
    });
    return { channel, wants, charged: 0n, signed: 0n, deposits: 0, hasLeft: false, isRefunded: false };
  });
}

/** Meaning of a seller's response for a member. */
type Verdict = Readonly<
  | { kind: "sold"; amount: bigint }
  | { kind: "rejected"; reason: string; charged?: bigint }
  | { kind: "again"; reason: string }
>;

/** Buys everything that a member wants, then requests a refund of the remaining balance. */
export async function buyAsMember(
  member: Member,
  server: Callable<Selling>,
  world: World,
  chains: VirtualChains,
): Promise<void> {
  const { time, note } = world;
  await time.pause(time.random() * 10_000);
  for (const want of member.wants) {
    for (let payments = 0; payments < paymentsMax && want.got === undefined; payments += 1) {
      const { channel, charged: before } = member;
      const { balance = 0n } = getChain(chains, channel.chain).head().state.channels.get(channel.id) ?? {};
      const deposit = balance < before + price ? buildDeposit(member, world) : undefined;
      const offer = signChannelPayment(channel, { before, deposit, identifier: want.identifier });
      if (before + price > member.signed) member.signed = before + price;
      const verdict = await present(offer, want, member, server, world);
      if (verdict === undefined) return;
      note(`${want.name}, ${offer.name}: ${verdict.kind} ${verdict.kind === "sold" ? verdict.amount : verdict.reason}`);
      if (verdict.kind === "sold") {
        want.got = verdict.amount;
        member.charged += verdict.amount;
      } else if ("charged" in verdict && verdict.charged !== undefined && verdict.charged <= member.signed) {
        member.charged = verdict.charged;
      }
    }
    await time.pause(time.random() * 5_000);
  }
  const want = {
    name: `refund of ${member.channel.wallet}`,
    fingerprint: hash("sha256", "refund"),
    identifier: undefined,
    got: undefined,
    sent: 0,
  };
  const offer = signChannelPayment(member.channel, { before: member.charged, isRefund: true });
  const verdict = await present(offer, want, member, server, world);
  note(
    `${want.name} of ${offer.name}: ${verdict?.kind ?? "left"} ${verdict?.kind === "rejected" ? verdict.reason : ""}`,
  );
  member.isRefunded = verdict?.kind === "sold";
}

function buildDeposit(member: Member, { time }: World) {
  const number = (member.deposits += 1);
  return { amount: depositMultiple * price, number, validSeconds: Math.ceil(time.nowMs() / 50_000) * 50 + 250 };
}

/** Sends a payment until its seller reports the outcome; returns undefined if the member gives up before that. */
async function present(
  offer: SignedOffer,
  want: Want,
  member: Member,
  server: Callable<Selling>,
  world: World,
): Promise<Verdict | undefined> {
  const { time, isUnrest, note } = world;
  for (;;) {
    const copies = isUnrest() && time.chance(0.2) ? 2 : 1;
    const asked = Array.from({ length: copies }, () =>
      askAsMember(offer, want, server, world).catch((error: unknown) => toNoAnswer(error, world)),
    );
    const verdicts = await Promise.all(asked);
    const verdict =
      verdicts.find(({ kind }) => kind === "sold") ?? verdicts.find(({ kind }) => kind === "again") ?? verdicts[0];
    if (verdict === undefined) throw new TypeError("no verdict");
    if (verdict.kind !== "again") return verdict;
    note(`${want.name}, ${offer.name}: again (${verdict.reason})`);
    if (isUnrest() && time.chance(0.01)) {
      note(`${want.name} is not asked for again`);
      member.hasLeft = true;
      return undefined;
    }
    await time.pause(200 + time.random() * 3_000);
  }
}

function askAsMember(offer: SignedOffer, want: Want, server: Callable<Selling>, world: World): Promise<Verdict> {
  const isLost = () => world.isUnrest() && world.time.chance(world.weather.networkFaultRate);
  return request(server, world, async ({ sell }): Promise<Verdict> => {
    const { requirements, signing } = offer;
    const { fingerprint } = want;
    const outcome = await sell(offer, { requirements, route: "GET /sold", fingerprint, client: signing.wallet });
    if (outcome.kind === "invalid") {
      const state = outcome.corrected?.extra["channelState"] as
        | Readonly<{ chargedCumulativeAmount?: string }>
        | undefined;
      const charged = state?.chargedCumulativeAmount;
      if (outcome.reason === reason.channelBusy) return { kind: "again", reason: outcome.reason };
      return {
        kind: "rejected",
        reason: outcome.reason,
        ...(charged === undefined ? {} : { charged: BigInt(charged) }),
      };
    }
    if (outcome.kind !== "sold") return { kind: "again", reason: outcome.kind };
    const [isSent, isReceived] = [!isLost(), !isLost()];
    if (isSent) want.sent += 1;
    await outcome.end?.(isSent);
    if (!isSent || !isReceived) return { kind: "again", reason: "the response is lost" };
    const [, amount = "0"] = /^sold for (\d+) by/.exec(new TextDecoder().decode(outcome.response.body)) ?? [];
    return { kind: "sold", amount: BigInt(amount) };
  });
}
