import {
  calmWallet,
  startAdversary,
  startCopier,
  startFickleWallet,
  startOperator,
  startPoverty,
  startSilentToken,
  startThief,
} from "./adversary.ts";
import { buy, drawPurchases, type Ask, type Purchase } from "./buyers.ts";
import { checkChannels, countOwed } from "./channel-checks.ts";
import { checkEnd } from "./end-checks.ts";
import { checkLedger } from "./ledger-checks.ts";
import { buyAsMember, drawMembers } from "./members.ts";
import { signOffer } from "./payments.ts";
import { stopFacilitator } from "./replicas.ts";
import { findCalled, forgetOffers, type SignedOffer } from "./signed-offers.ts";
import { startServices } from "./start-services.ts";
import { createVirtualChain, getChain, nameSlot, type VirtualChain, type VirtualChains } from "./virtual-chain.ts";
import { listCalls, nameCalled } from "./virtual-contracts.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { chainIds, startMs } from "./wallets.ts";
import { createWatcher, findTransfers } from "./watcher.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { createWorld, type RunRecord, type Weather, type World } from "./world.ts";

export type Run = RunRecord & Readonly<{ seed: number; crashes: number; weather: Weather }>;

/** Time after which an unfinished run fails, because a purchase or a transaction never completes. */
const horizonMs = 3_600_000;

/** Runs the whole payment path once, with the order of events and faults determined by a seed. */
export async function simulate(seed: number): Promise<Run> {
  forgetOffers();
  const world = createWorld(seed);
  const { time, weather, isUnrest } = world;
  const { hasFeeSpikes } = weather;
  const ids = chainIds.slice(0, weather.chains);
  const chains = new Map(ids.map((id) => [id, createVirtualChain({ id, time, hasFeeSpikes })]));
  const watcher = createWatcher({ world, chains });
  const purchases = drawPurchases(world);
  const { ask, askAsThief, facilitators, ledger, claims, server } = startServices(world, {
    world,
    chains,
    watcher,
    purchases,
  });
  for (const chain of chains.values()) {
    makeBlocks(world, chain);
    if (weather.hasAdversary) startAdversary(world, chain, purchases);
    if (weather.contractWallets === "fickle") startFickleWallet(world, chain);
    if (weather.hasOperator) startOperator(world, chain);
    if (weather.hasSilentToken) startSilentToken(world, chain);
    if (weather.hasPoorSigners) startPoverty(world, chain);
  }
  if (weather.seller === "direct") startCopier(purchases, askAsThief, world);
  startThief(purchases, { ask, askAsThief }, { world, chains });
  const members = server !== undefined && weather.hasMembers ? drawMembers(world) : [];
  let missing = purchases.length + members.length;
  for (const member of members)
    if (server !== undefined) void buyAsMember(member, server, world, chains).then(() => (missing -= 1));
  for (const purchase of purchases) void buy(purchase, ask, world, chains).then(() => (missing -= 1));
  /**
   * A payment that was sent twice, or that expired, may leave a transaction behind a nonce gap until the next payment fills the gap: it can
   * charge nothing any more.
   */
  const isOver = (call: ContractCall) => {
    const offer = findCalled(call)?.offer;
    if (offer === undefined) return false;
    return isExpired(offer) || findTransfers(chains, offer).length > 0;
  };
  const isExpired = ({ signing, validBefore }: SignedOffer) =>
    validBefore <= getChain(chains, signing.chain).head().timestamp;
  const countPending = () => {
    const pooled = [...chains.values()].flatMap(({ pool }) => [...pool.values()]);
    return pooled.filter((each) => !listCalls(each).every(isOver)).length;
  };
  const isDone = () => missing === 0 && !isUnrest() && countPending() === 0;
  if (!(await time.run(isDone, startMs + horizonMs)))
    world.report(`${missing} purchases and ${countPending()} transactions have no end`);
  const probes = await probeSigners(world, ask, chains);
  const open = claims?.prepare("SELECT 1 FROM claims WHERE state IN ('working', 'settling')");
  const countOpenClaims = () => open?.all().length ?? 0;
  for (let waits = 0; waits < 4 && countOpenClaims() > 0; waits += 1)
    await time.run(() => false, time.nowMs() + 30_000);
  if (countOpenClaims() > 0) world.report(`${countOpenClaims()} claims have no end`);
  if (claims !== undefined && members.length > 0) {
    for (const chain of chains.values()) calmWallet(chain);
    for (let waits = 0; waits < 30 && countOwed(claims) > 0; waits += 1)
      await time.run(() => false, time.nowMs() + 30_000);
    if (countOwed(claims) > 0) world.report(`${countOwed(claims)} channels are owed for ever`);
    checkChannels(members, claims, world, chains);
  }
  checkEnd({ world, chains, watcher, purchases: [...purchases, ...probes] });
  const stops = facilitators.map((facilitator) => stopFacilitator(facilitator, world));
  let running = stops.length;
  for (const stopped of stops) void stopped.then(() => (running -= 1));
  await time.run(() => running === 0, time.nowMs() + 60_000);
  checkLedger(ledger, world, chains);
  // Open databases would keep the whole run in memory.
  for (const database of [ledger, claims]) database?.close();
  return { seed, weather, steps: world.steps, problems: world.problems, crashes: world.crashes() };
}

function makeBlocks({ time, weather, isUnrest, note }: World, chain: VirtualChain): void {
  const { chance, between, after, pick } = time;
  const describe = (number: number) => {
    const { included } = chain.head();
    const what = included.map(({ transaction: { from, nonce, isForeign }, calls }) => {
      const ends = calls.map(({ call, revert }) => `${nameCalled(call) ?? call.data.slice(0, 10)}: ${revert ?? "ok"}`);
      return `${isForeign ? "foreign" : `${from.slice(0, 6)} ${nonce}`} ${ends.join(" and ")}`;
    });
    if (what.length > 0) note(`block ${number} of ${chain.id}: ${what.join(", ")}`);
  };
  const reorganize = (depth: number) => {
    note(`the newest ${depth} blocks are replaced`);
    chain.reorganize(depth, { depthMax: weather.confirmations - 1, lossRate: weather.node.forgetting });
  };
  const step = () => {
    if (isUnrest() && weather.reorgDepthMax > 0 && chance(0.15))
      reorganize(Math.ceil(time.random() * weather.reorgDepthMax));
    if (isUnrest() && weather.hasDeepReorgs && chance(0.03))
      reorganize(weather.confirmations + Math.floor(time.random() * 3));
    chain.mine(isUnrest() ? 0.8 : 1);
    describe(chain.head().number);
    if (isUnrest() && chance(weather.node.forgetting)) disturbPool(time, chain);
    after(between(500, 2_500), step);
  };
  const disturbPool = ({ random }: Pick<VirtualTime, "random">, { pool, sent, head }: VirtualChain) => {
    const lost = pick([...pool.keys()]);
    const again = pick([...sent.values()]);
    if (random() < 0.5 && lost !== undefined) pool.delete(lost);
    else if (again !== undefined && again.nonce >= (head().state.nextNonces.get(again.from) ?? 0))
      pool.set(nameSlot(again), again);
  };
  after(1_000, step);
}

/** Buys once more through each signer at the end, which a signer with a nonce gap could not settle. */
async function probeSigners(world: World, ask: Ask, chains: VirtualChains): Promise<readonly Purchase[]> {
  const { time, weather } = world;
  const validSeconds = Math.ceil((time.nowMs() - startMs) / 50_000) * 50 + 250;
  const probes = [...chains.keys()].flatMap((chain) =>
    Array.from({ length: weather.signers }, (_, facilitator): Purchase => {
      const number = 1_000 + facilitator;
      return {
        name: `the probe of signer ${facilitator} on ${chain}`,
        beginsAfterMs: 0,
        wallet: "late",
        offers: [signOffer({ wallet: "late", chain, method: "upto", facilitator, number, validSeconds })],
        // A token that moved nothing is suspended for up to an hour.
        isGood: !weather.hasSilentToken,
        hasLeft: false,
        sold: undefined,
        lastReason: undefined,
        rejected: new Set(),
        excused: new Set(),
      };
    }),
  );
  let missing = probes.length;
  for (const probe of probes) void buy(probe, ask, world, chains).then(() => (missing -= 1));
  await time.run(() => missing === 0, time.nowMs() + 300_000);
  // The payment of a disconnected buyer is settled without the buyer.
  await time.run(() => false, time.nowMs() + 30_000);
  return probes;
}
