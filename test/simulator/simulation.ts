import { callInProcess } from "#resource-server/facilitators/facilitator-in-process.ts";
import { sqliteClaimMigrations } from "#resource-server/claims/claim-schema.ts";
import { sqliteLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { encodeAddress } from "#x402/hex.ts";
import { askFacilitator, askResourceServer, buy, drawPurchases, type Ask, type Purchase } from "./buyers.ts";
import { checkEnd } from "./end-checks.ts";
import { balances, signOffer, startMs, token } from "./payments.ts";
import { callRemotely, startFacilitator, startResourceServer, type FacilitatorSurroundings } from "./services.ts";
import { cancelSelector, createVirtualChain, drainSelector, type VirtualChain } from "./virtual-chain.ts";
import { createVirtualDisk } from "./virtual-disk.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { createWatcher, nameTransfer, shorten } from "./watcher.ts";
import { createWorld, keepRunning, type RunRecord, type Weather, type World } from "./world.ts";

export type Run = RunRecord & Readonly<{ seed: number; crashes: number; weather: Weather }>;

/** Time after which a run that has not ended has a purchase or a transaction without an end. */
const horizonMs = 3_600_000;

/** Runs the whole money path once, in the order of events and faults that a seed decides. */
export async function simulate(seed: number): Promise<Run> {
  const world = createWorld(seed);
  const { time, weather, isUnrest } = world;
  const chain = createVirtualChain({ time, asset: token.address, balances, hasFeeSpikes: weather.hasFeeSpikes });
  const watcher = createWatcher({ world, chain });
  const purchases = drawPurchases(world);
  const ask = startServices(world, { world, chain, watcher });
  makeBlocks(world, chain);
  if (weather.hasAdversary) startAdversary(world, chain, purchases);
  let missing = purchases.length;
  for (const purchase of purchases) void buy(purchase, ask, world).then(() => (missing -= 1));
  const isOver = () => missing === 0 && !isUnrest() && chain.pool.size === 0;
  if (!(await time.run(isOver, startMs + horizonMs)))
    world.report(`${missing} purchases and ${chain.pool.size} transactions have no end`);
  const probe = await probeSigner(world, ask);
  checkEnd({ world, chain, watcher, purchases: [...purchases, probe] });
  return { seed, weather, steps: world.steps, problems: world.problems, crashes: world.crashes() };
}

/** Starts the services, and returns how buyers reach them. */
function startServices(world: World, parts: Pick<FacilitatorSurroundings, "world" | "chain" | "watcher">): Ask {
  const { time, weather, isUnrest } = world;
  const disk = {
    time,
    note: world.note,
    latencyMs: weather.diskLatencyMs,
    faultRate: () => (isUnrest() ? weather.diskFaultRate : 0),
  };
  const ledger = createVirtualDisk({ ...disk, migrations: sqliteLedgerMigrations, isRemote: false });
  const facilitating = { ...parts, disk: ledger, onSend: requireJournal(world, ledger.database) };
  if (weather.seller === "direct")
    return askFacilitator(
      keepRunning("facilitator", world, (process) => startFacilitator(process, facilitating)),
      world,
    );
  const selling = { ...parts, disk: createVirtualDisk({ ...disk, migrations: sqliteClaimMigrations, isRemote: true }) };
  if (weather.seller === "in-process") {
    const facilitate: Parameters<typeof startResourceServer>[1]["facilitate"] = async (process) =>
      callInProcess(await startFacilitator(process, facilitating));
    return askResourceServer(
      keepRunning("resource server", world, (process) => startResourceServer(process, { ...selling, facilitate })),
      world,
    );
  }
  const facilitator = keepRunning("facilitator", world, (process) => startFacilitator(process, facilitating));
  const server = keepRunning("resource server", world, (process) =>
    startResourceServer(process, { ...selling, facilitate: async () => callRemotely(process, facilitator, world) }),
  );
  return askResourceServer(server, world);
}

/** Requires that each transaction is on disk before a node gets it. */
function requireJournal(
  { report }: World,
  database: ReturnType<typeof createVirtualDisk>["database"],
): FacilitatorSurroundings["onSend"] {
  return ({ hash, nonce }) => {
    const found = database.prepare("SELECT 1 FROM attempt WHERE hash = ?").get(hash);
    if (found === undefined) report(`the transaction with nonce ${nonce} was sent and is not in the journal`);
  };
}

function makeBlocks({ time, weather, isUnrest, note }: World, chain: VirtualChain): void {
  const { chance, between, after, pick } = time;
  const describe = (number: number) => {
    const { included, state } = chain.head();
    const what = included.map(({ transaction: { nonce, data, isForeign }, revert }) => {
      const name = nameTransfer(data);
      return `${isForeign ? "foreign" : nonce} ${name === undefined ? "" : shorten(name)} ${revert ?? "ok"}`;
    });
    if (what.length > 0) note(`block ${number}, next nonce ${state.nextNonce}: ${what.join(", ")}`);
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
    else if (again !== undefined && again.nonce >= head().state.nextNonce) pool.set(again.nonce, again);
  };
  after(1_000, step);
}

/** Lets somebody settle a copy of a pending payment, and lets buyers cancel a payment or move their money away. */
function startAdversary({ time, isUnrest, note }: World, chain: VirtualChain, purchases: readonly Purchase[]): void {
  const { pick, between, after } = time;
  const step = () => {
    if (!isUnrest()) return;
    const pending = pick([...chain.pool.values()]);
    const offer = pick(pick(purchases)?.offers ?? []);
    const kind = pick(["copy", "copy", "cancel", "drain"]);
    if (kind === "copy" && pending !== undefined) chain.sendForeign(pending.data);
    if (kind === "cancel" && offer !== undefined)
      chain.sendForeign(`${cancelSelector}${encodeAddress(`0x${offer.from}`)}${offer.nonce.slice(2)}`);
    if (kind === "drain" && offer?.wallet === "tight")
      chain.sendForeign(`${drainSelector}${encodeAddress(`0x${offer.from}`)}`);
    note(`adversary: ${kind}`);
    after(between(1_000, 15_000), step);
  };
  after(between(1_000, 15_000), step);
}

/** Buys once more when all is over: a signer with a nonce gap could not settle it. */
async function probeSigner(world: World, ask: Ask): Promise<Purchase> {
  const { time } = world;
  const validSeconds = Math.ceil((time.nowMs() - startMs) / 50_000) * 50 + 250;
  const offers = [signOffer({ wallet: "rich", number: 1_000, validSeconds })];
  const probe: Purchase = {
    name: "the probe",
    wallet: "rich",
    offers,
    isGood: true,
    sold: undefined,
    refused: undefined,
  };
  let isDone = false;
  void buy(probe, ask, world).then(() => (isDone = true));
  await time.run(() => isDone, time.nowMs() + 300_000);
  return probe;
}
