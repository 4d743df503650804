import { callInProcess } from "#resource-server/facilitators/facilitator-in-process.ts";
import { sqliteClaimMigrations } from "#resource-server/claims/claim-schema.ts";
import type { DatabaseSync } from "node:sqlite";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import { calmWallet, startAdversary, startFickleWallet, startOperator, startPoverty, startThief } from "./adversary.ts";
import { askFacilitator, askResourceServer, buy, drawPurchases, type Ask, type Purchase } from "./buyers.ts";
import { checkChannels, countOwed } from "./channel-checks.ts";
import { checkEnd } from "./end-checks.ts";
import { checkLedger, journaledLedger } from "./ledger-checks.ts";
import { signOffer } from "./payments.ts";
import { callAny, checkSoleLeader, disturbReplicas, stopFacilitator } from "./replicas.ts";
import { forgetOffers } from "./signed-offers.ts";
import { buyAsMember, drawMembers } from "./members.ts";
import { chainIds, startMs } from "./wallets.ts";
import {
  callRemotely,
  startFacilitator,
  startResourceServer,
  type FacilitatorSurroundings,
  type RunningFacilitator,
  type Selling,
} from "./services.ts";
import { createVirtualChain, nameSlot, type VirtualChain, type VirtualChains } from "./virtual-chain.ts";
import { nameCalled } from "./virtual-contracts.ts";
import { createVirtualDatabase } from "./virtual-database.ts";
import { createVirtualDisk, type DiskOptions, type VirtualDisk } from "./virtual-disk.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { createWatcher } from "./watcher.ts";
import { createWorld, keepRunning, type RunRecord, type Service, type Weather, type World } from "./world.ts";

export type Run = RunRecord & Readonly<{ seed: number; crashes: number; weather: Weather }>;

/** Time after which an unfinished run has a purchase or a transaction that never ends. */
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
  const { ask, askAsThief, facilitators, ledger, claims, server } = startServices(world, { world, chains, watcher });
  for (const chain of chains.values()) {
    makeBlocks(world, chain);
    if (weather.hasAdversary) startAdversary(world, chain, purchases);
    if (weather.contractWallets === "fickle") startFickleWallet(world, chain);
    if (weather.hasOperator) startOperator(world, chain);
    if (weather.hasPoorSigners) startPoverty(world, chain);
  }
  startThief(purchases, { ask, askAsThief }, { world, chains });
  const members = server !== undefined && weather.hasMembers ? drawMembers(world) : [];
  let missing = purchases.length + members.length;
  for (const member of members)
    if (server !== undefined) void buyAsMember(member, server, world, chains).then(() => (missing -= 1));
  for (const purchase of purchases) void buy(purchase, ask, world, chains).then(() => (missing -= 1));
  const countPending = () => chains.values().reduce((sum, { pool }) => sum + pool.size, 0);
  const isOver = () => missing === 0 && !isUnrest() && countPending() === 0;
  if (!(await time.run(isOver, startMs + horizonMs)))
    world.report(`${missing} purchases and ${countPending()} transactions have no end`);
  const probes = await probeSigners(world, ask, chains);
  const open = claims?.prepare("SELECT 1 FROM claims WHERE state IN ('working', 'settling')");
  const countOpen = () => open?.all().length ?? 0;
  for (let waits = 0; waits < 4 && countOpen() > 0; waits += 1) await time.run(() => false, time.nowMs() + 30_000);
  if (countOpen() > 0) world.report(`${countOpen()} claims have no end`);
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
  return { seed, weather, steps: world.steps, problems: world.problems, crashes: world.crashes() };
}

/** How buyers, and a thief, reach the services. */
type Started = Readonly<{
  ask: Ask;
  askAsThief: Ask;
  /** Facilitators that run in processes of their own, and the database of all. */
  facilitators: readonly Service<RunningFacilitator>[];
  ledger: DatabaseSync;
  /** Resource server, and its database. */
  server?: Service<Selling>;
  claims?: DatabaseSync;
}>;

type Parts = Pick<FacilitatorSurroundings, "world" | "chains" | "watcher">;

function startServices(world: World, parts: Parts): Started {
  const { weather } = world;
  if (weather.seller === "in-process") return startWithinSeller(world, parts);
  const { facilitators, ledger } =
    weather.replicas > 1 ? startReplicas(world, parts) : startSoleFacilitator(world, parts);
  const facilitator = callAny(facilitators, world);
  const called = { facilitators, ledger, askAsThief: askFacilitator(facilitator, world, { verifies: false }) };
  if (weather.seller === "direct") return { ...called, ask: askFacilitator(facilitator, world) };
  const disk = createDisk(world, sqliteClaimMigrations, { isRemote: true });
  const server = keepRunning("resource server", world, (process) =>
    startResourceServer(process, { ...parts, disk, facilitate: async () => callRemotely(process, facilitator, world) }),
  );
  return { ...called, ask: askResourceServer(server, world), server, claims: disk.database };
}

function createDisk(world: World, migrations: Migrations, { isRemote }: Pick<DiskOptions, "isRemote">): VirtualDisk {
  const { time, weather, note } = world;
  const { diskLatencyMs: latencyMs, losesPower } = weather;
  return createVirtualDisk({
    time,
    note,
    migrations,
    isRemote,
    latencyMs,
    losesPower,
    faultRate: () => diskFaultRate(world),
  });
}

const diskFaultRate = ({ weather, isUnrest }: World): number => (isUnrest() ? weather.diskFaultRate : 0);

function startSoleFacilitator(world: World, parts: Parts): Pick<Started, "facilitators" | "ledger"> {
  const ledger = createDisk(world, journaledLedger, { isRemote: false });
  const surroundings = { ...parts, ledger, onSend: requireJournal(world, ledger) };
  const facilitator = keepRunning("facilitator", world, (process) => startFacilitator(process, surroundings));
  return { facilitators: [facilitator], ledger: ledger.database };
}

/** Starts a resource server with the facilitator in its process. */
function startWithinSeller(world: World, parts: Parts): Started {
  const ledger = createDisk(world, journaledLedger, { isRemote: false });
  const disk = createDisk(world, sqliteClaimMigrations, { isRemote: true });
  const surroundings = { ...parts, ledger, onSend: requireJournal(world, ledger) };
  const facilitate = async (process: VirtualProcess) => callInProcess(await startFacilitator(process, surroundings));
  const server = keepRunning("resource server", world, (process) =>
    startResourceServer(process, { ...parts, disk, facilitate }),
  );
  const ask = askResourceServer(server, world);
  return { ask, askAsThief: ask, facilitators: [], ledger: ledger.database, server, claims: disk.database };
}

/** Probability that a leg of a statement of replicas takes longer than a term lasts. */
const slowRate = 0.01;

function startReplicas(world: World, parts: Parts): Pick<Started, "facilitators" | "ledger"> {
  const { time, weather, isUnrest, report } = world;
  const facilitators: Service<RunningFacilitator>[] = [];
  const ledger = createVirtualDatabase({
    time,
    migrations: journaledLedger,
    drawLatencyMs: () =>
      time.random() * (isUnrest() && time.chance(slowRate) ? 8_000 : 20 + weather.diskLatencyMs / 10),
    faultRate: () => (isUnrest() ? Math.max(0.01, weather.diskFaultRate) : 0),
    onTerm: (term, by) => void checkSoleLeader(term, by, facilitators, world),
    onLeaderWrite: ({ chain, number }, actual) => {
      if (number !== actual) report(`a write of term ${number} on ${chain} was accepted in term ${actual}`);
    },
  });
  const surroundings = { ...parts, ledger, onSend: requireJournal(world, ledger) };
  for (let index = 0; index < weather.replicas; index += 1)
    facilitators.push(keepRunning(`replica ${index}`, world, (process) => startFacilitator(process, surroundings)));
  disturbReplicas(world, facilitators, ledger);
  return { facilitators, ledger: ledger.database };
}

/** Requires that each transaction is on disk before a node receives it. */
function requireJournal(
  { report }: World,
  { database, isShared }: Pick<VirtualDisk, "database" | "isShared">,
): FacilitatorSurroundings["onSend"] {
  // Another replica may have withdrawn it meanwhile.
  const journal = database.prepare(`SELECT 1 FROM ${isShared ? "recorded" : "attempt"} WHERE hash = ?`);
  return ({ hash, nonce }) => {
    const found = journal.get(hash);
    if (found === undefined) report(`the transaction with nonce ${nonce} was sent and is not in the journal`);
  };
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
  const step = () => {
    if (isUnrest() && weather.reorgDepthMax > 0 && chance(0.15)) {
      const depth = Math.ceil(time.random() * weather.reorgDepthMax);
      note(`the newest ${depth} blocks are replaced`);
      chain.reorganise(depth, weather.node.forgetting);
    }
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

/** Buys once more through each signer at the end: one with a nonce gap could not settle that. */
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
        isGood: true,
        hasLeft: false,
        sold: undefined,
        refused: undefined,
      };
    }),
  );
  let missing = probes.length;
  for (const probe of probes) void buy(probe, ask, world, chains).then(() => (missing -= 1));
  await time.run(() => missing === 0, time.nowMs() + 300_000);
  // A payment by a buyer that left is settled without it.
  await time.run(() => false, time.nowMs() + 30_000);
  return probes;
}
