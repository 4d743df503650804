import type { Purchase } from "./buyers.ts";
import type { SignedOffer } from "./signed-offers.ts";
import { payTo } from "./wallets.ts";
import type { Transaction, VirtualChain, VirtualChains } from "./virtual-chain.ts";
import { listCalls, nameCalled } from "./virtual-contracts.ts";
import { findTransfers, isUndone, type Watcher } from "./watcher.ts";
import type { World } from "./world.ts";

export type End = Readonly<{ world: World; chains: VirtualChains; watcher: Watcher; purchases: readonly Purchase[] }>;

/** Checks the chains' states and the buyers' results at the end of a run. */
export function checkEnd({ world, chains, watcher, purchases }: End): void {
  const { report } = world;
  const transactions = [...chains.values()].flatMap(({ sent }) => [...sent.values()]);
  const sent = new Set(transactions.flatMap(listCalls).map(nameCalled));
  for (const { name, wallet, offers, sold, isGood, hasLeft, lastReason, excused, copied } of purchases) {
    const chargesOf = (some: readonly SignedOffer[]) => some.flatMap((offer) => findTransfers(chains, offer));
    for (const offer of offers)
      if (chargesOf([offer]).length > 1) report(`${offer.name} is charged ${chargesOf([offer]).length} times`);
    if (sold !== undefined && sold.amount > 0n && sold.offer.name === copied?.name)
      report(`${sold.offer.name} is sold twice`);
    if (offers.some((offer) => isUndone(chains, offer))) continue;
    const isOwn = (offer: SignedOffer) => !excused.has(offer.name) || (sold?.offer === offer && sold.amount > 0n);
    const charges = chargesOf(offers.filter(isOwn));
    if (charges.length > 1) report(`${name} is charged ${charges.length} times`);
    const charged = charges.map(({ amount }) => amount).join(" and ") || "0";
    if (sold !== undefined && charged !== String(sold.amount))
      report(`${name} is delivered for ${sold.amount}, and ${charged} is charged`);
    if (sold !== undefined && sold.offer.to !== payTo) report(`${name} is delivered, and somebody else is paid`);
    if (sold === undefined && charges.length > 0 && !hasLeft) report(`${name} is charged and not delivered`);
    if (isGood && sold === undefined && !hasLeft)
      report(`${name} with a good payment is not sold: ${lastReason ?? "without an end"}`);
    const isFree = ({ signing: { flaw }, name: paying }: SignedOffer) =>
      wallet === "empty" || flaw !== undefined || (sold?.amount === 0n && sold.offer.name === paying);
    if (offers.some((offer) => isOwn(offer) && isFree(offer) && sent.has(offer.name)))
      report(`gas was offered for ${name}, which pays nothing`);
  }
  for (const offer of watcher.failed)
    if (findTransfers(chains, offer).length > 0 && !isUndone(chains, offer))
      report(`${offer.name} was answered as failed, and is charged`);
  for (const chain of chains.values()) checkGas(world, chain);
}

/** Max failed transactions per payment at the signer's cost; `isExact`: nodes report the newest state, and buyers keep their funds. */
const wastedMax = (isExact: boolean) => (isExact ? 3 : 5);

/** Checks that no gas is spent on unpaid payments, except for changes between simulation and block. */
function checkGas({ weather, report }: World, { blocks, sent }: VirtualChain): void {
  const { lagging, unanswered, forgetting, hiding } = weather.node;
  const isExact = !weather.hasAdversary && lagging === 0;
  const wasted = new Map<string, number>();
  const own = blocks.flatMap(({ included }) => included.filter(({ transaction }) => !transaction.isForeign));
  const order = [...sent.keys()];
  /** A payment whose transaction waits behind a missing nonce is also sent with that nonce; one of the two fails. */
  const fillsGap = (name: string, { hash, nonce }: Transaction) =>
    own.some(
      ({ transaction: other, calls }) =>
        other.nonce < nonce &&
        order.indexOf(other.hash) > order.indexOf(hash) &&
        calls.some(({ call, revert }) => revert === undefined && nameCalled(call) === name),
    );
  const ownCalls = own.flatMap((each) => each.calls.map((call) => ({ ...call, by: each.transaction })));
  for (const { by, call, revert } of ownCalls) {
    if (revert === undefined) continue;
    const name = nameCalled(call) ?? `a seller's call ${call.data.slice(0, 10)} ${call.data.slice(-16)}`;
    wasted.set(name, (wasted.get(name) ?? 0) + 1);
    if (revert === "together") report(`a transaction with ${name} failed because of another payment`);
    if ((revert === "balance" || revert === "allowance") && isExact)
      report(`gas was spent for ${name}, whose payer had too little (${revert})`);
    if (revert === "used" && isExact && unanswered + forgetting + hiding === 0 && !fillsGap(name, by))
      report(`gas was spent for ${name}, which was charged already`);
    if (revert === "unknown") report("the signer sent something that isn't a payment");
    if (revert === "sender" || revert === "amount") report(`${name} was sent with a wrong ${revert}`);
  }
  for (const [name, times] of wasted)
    if (times > wastedMax(isExact)) report(`${times} transactions for ${name} failed`);
}
