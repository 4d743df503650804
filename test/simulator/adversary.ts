import type { Hex } from "#x402/hex.ts";
import type { Ask, Purchase } from "./buyers.ts";
import { signOffer } from "./payments.ts";
import type { SignedOffer } from "./signed-offers.ts";
import { contractWallet, signers, token } from "./wallets.ts";
import { nameSlot, type VirtualChain, type VirtualChains } from "./virtual-chain.ts";
import { cancel, drain, revoke, silence, toggleWallet } from "./token-acts.ts";
import { approve, listCalls, nameCalled } from "./virtual-contracts.ts";
import type { World } from "./world.ts";

/** How often another seller requests an outcome. */
const triesMax = 20;

/** Repeats an event until the chaos phase ends. */
export function repeat({ time, isUnrest }: World, leastMs: number, mostMs: number, step: () => void): void {
  const next = () => {
    if (!isUnrest()) return;
    step();
    time.after(time.between(leastMs, mostMs), next);
  };
  time.after(time.between(1_000, mostMs), next);
}

/**
 * Makes a third party settle copies of pending payments, and makes buyers cancel payments, move their funds, or revoke approvals.
 */
export function startAdversary(world: World, chain: VirtualChain, purchases: readonly Purchase[]): void {
  const { pick } = world.time;
  repeat(world, 1_000, 15_000, () => {
    const pending = pick([...chain.pool.values()].flatMap(listCalls));
    const offers = pick(purchases)?.offers.filter(({ signing }) => signing.chain === chain.id);
    const offer = pick(offers ?? []);
    const kind = pick(["copy", "copy", "cancel", "drain", "approve", "revoke"]);
    if (kind === "copy" && pending !== undefined) chain.sendForeign(pending);
    if (kind === "cancel" && offer !== undefined) chain.sendForeign(cancel(offer));
    if (kind === "drain" && offer?.signing.wallet === "tight") chain.sendForeign(drain(offer));
    if (kind === "approve" && offer !== undefined) chain.sendForeign(approve(offer));
    if (kind === "revoke" && offer !== undefined) chain.sendForeign(revoke(offer));
    world.note(`adversary: ${kind}`);
  });
}

/** Makes the signers' owner send its own transactions with the same keys, including at nonces that the facilitator uses. */
export function startOperator(world: World, { head, pool }: VirtualChain): void {
  const { time, weather, note } = world;
  repeat(world, 5_000, 30_000, () => {
    const from = time.pick(signers.slice(0, weather.signers))?.address ?? "0x";
    const nonce = head().state.nextNonces.get(from) ?? 0;
    const hash: Hex = `0x${nonce.toString(16).padStart(24, "e")}${from.slice(2)}`;
    const fees = { maxFee: 10n ** 12n, tip: 10n ** 10n };
    const used = { hash, from, nonce, to: token.address, data: "0x", gas: 100_000n, isForeign: true } as const;
    pool.set(nameSlot(used), { ...used, ...fees, act: () => [] });
    note(`the operator uses nonce ${nonce}`);
  });
}

/** Makes a contract wallet reject signatures that it confirmed before, and confirm them again. */
export function startFickleWallet(world: World, chain: VirtualChain): void {
  repeat(world, 2_000, 20_000, () => {
    chain.sendForeign(toggleWallet(contractWallet));
    world.note(`the contract wallet toggles its verdict on ${chain.id}`);
  });
}

/** Makes a contract wallet that rejects signatures confirm them, so that its seller can claim what is owed. */
export function calmWallet({ head, sendForeign }: VirtualChain): void {
  if (head().state.rejecting.size > 0) sendForeign(toggleWallet(contractWallet));
}

/** Makes the token's transfers succeed without effect for a while, and then move tokens again. */
export function startSilentToken(world: World, { sendForeign }: VirtualChain): void {
  const { time, note } = world;
  repeat(world, 5_000, 40_000, () => {
    sendForeign(silence(true));
    note("the token moves nothing");
    time.after(time.between(1_000, 10_000), () => sendForeign(silence(false)));
  });
}

/** Makes accounts run out of native currency for a while. */
export function startPoverty(world: World, { broke }: VirtualChain): void {
  const { time, weather, note } = world;
  repeat(world, 5_000, 30_000, () => {
    const from = time.pick(signers.slice(0, weather.signers))?.address ?? "0x";
    broke.add(from);
    note(`${from} can't pay for gas`);
    time.after(time.between(1_000, 20_000), () => broke.delete(from));
  });
}

/** Makes another seller settle some purchases' payments, perhaps first; only one of the two sellers may get a success. */
export function startCopier(purchases: readonly Purchase[], ask: Ask, { time }: World): void {
  const copy = async (purchase: Purchase, [offer]: readonly SignedOffer[]) => {
    if (offer === undefined) return;
    await time.pause(purchase.beginsAfterMs + time.between(-500, 5_000));
    purchase.isGood = false;
    purchase.excused.add(offer.name);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const verdict = await ask(offer, "another seller").catch(() => undefined);
      if (verdict?.kind === "sold" && verdict.amount > 0n) purchase.copied = offer;
      if (verdict !== undefined && verdict.kind !== "again") return;
      await time.pause(time.between(200, 3_000));
    }
  };
  for (const purchase of purchases) if (time.chance(0.15)) void copy(purchase, purchase.offers);
}

/**
 * Makes a third party use others' payments, read from transactions, for its own purchases, without the secrets that only the buyers know.
 */
export function startThief(
  purchases: readonly Purchase[],
  { ask, askAsThief }: Readonly<{ ask: Ask; askAsThief: Ask }>,
  { world, chains }: Readonly<{ world: World; chains: VirtualChains }>,
): void {
  const { time, weather, report } = world;
  const steal = async () => {
    const transactions = [...chains.values()].flatMap(({ sent }) => [...sent.values()]);
    const isPublic = new Set(transactions.flatMap(listCalls).map(nameCalled));
    const offer = time.pick(purchases.flatMap(({ offers }) => offers).filter(({ name }) => isPublic.has(name)));
    if (offer === undefined) return;
    const copy = signOffer({ ...offer.signing, identifier: undefined });
    // No other buyer may receive anything for the same payment, even for the same request; a power failure may erase the record of the
    // delivery.
    const victim = purchases.find(({ sold }) => sold?.offer === offer);
    const isRepeat = victim !== undefined && !weather.losesPower && time.chance(0.5);
    const asked = isRepeat ? ask(copy, victim.name, "the thief") : askAsThief(copy, "the thief");
    const verdict = await asked.catch(() => undefined);
    if (verdict?.kind === "sold") report(`a thief got something for ${offer.name}`);
  };
  repeat(world, 3_000, 20_000, () => void steal());
}
