import type { DatabaseSync } from "node:sqlite";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import { sqliteClaimMigrations } from "#resource-server/claims/claim-schema.ts";
import { callInProcess } from "#resource-server/facilitators/facilitator-in-process.ts";
import { askFacilitator, askResourceServer, type Ask, type Purchase } from "./buyers.ts";
import { journaledLedger } from "./ledger-checks.ts";
import { callAny, checkSoleLeader, disturbReplicas } from "./replicas.ts";
import {
  callRemotely,
  startFacilitator,
  startResourceServer,
  type FacilitatorSurroundings,
  type RunningFacilitator,
  type Selling,
} from "./services.ts";
import { findCalled } from "./signed-offers.ts";
import { createVirtualDatabase } from "./virtual-database.ts";
import { createVirtualDisk, type DiskOptions, type VirtualDisk } from "./virtual-disk.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import { keepRunning, type Service, type World } from "./world.ts";

/** How buyers and a thief reach the services. */
type Started = Readonly<{
  ask: Ask;
  askAsThief: Ask;
  /** Facilitators in their own processes, and their shared database. */
  facilitators: readonly Service<RunningFacilitator>[];
  ledger: DatabaseSync;
  /** Resource server, and its database. */
  server?: Service<Selling>;
  claims?: DatabaseSync;
}>;

type Parts = Pick<FacilitatorSurroundings, "world" | "chains" | "watcher"> &
  Readonly<{ purchases: readonly Purchase[] }>;

export function startServices(world: World, parts: Parts): Started {
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

/** Probability that a replica's statement, or its response, takes longer than a term lasts. */
const slowRate = 0.01;

function startReplicas(world: World, parts: Parts): Pick<Started, "facilitators" | "ledger"> {
  const { time, weather, isUnrest, report } = world;
  const facilitators: Service<RunningFacilitator>[] = [];
  const leaders = new Map<number, string>();
  const ledger = createVirtualDatabase({
    time,
    migrations: journaledLedger,
    drawLatencyMs: () =>
      time.random() * (isUnrest() && time.chance(slowRate) ? 8_000 : 20 + weather.diskLatencyMs / 10),
    faultRate: () => (isUnrest() ? Math.max(0.01, weather.diskFaultRate) : 0),
    onRequest: (call) => {
      const { offer } = findCalled(call) ?? {};
      for (const { rejected, excused } of parts.purchases)
        if (offer !== undefined && rejected.has(offer.name)) excused.add(offer.name);
    },
    onTerm: (term, by) => {
      leaders.set(term.chain, by.name);
      void checkSoleLeader(term, by, facilitators, world);
    },
    onLeaderCheck: (by) => {
      if (isUnrest() && time.chance(0.05)) by.suspend(time.random() * 9_000);
    },
    onLeaderWrite: ({ chain, number }, actual) => {
      if (number !== actual) report(`a write of term ${number} on ${chain} was accepted in term ${actual}`);
    },
  });
  const isFormer = ({ name }: VirtualProcess, chain: number) => leaders.get(chain) !== name;
  const surroundings = { ...parts, ledger, onSend: requireJournal(world, ledger, isFormer) };
  for (let index = 0; index < weather.replicas; index += 1)
    facilitators.push(keepRunning(`replica ${index}`, world, (process) => startFacilitator(process, surroundings)));
  disturbReplicas(world, facilitators, ledger);
  return { facilitators, ledger: ledger.database };
}

/**
 * Requires that each transaction is on disk before a node receives it. A former leader's transaction need only have been there earlier,
 * because its successor may have withdrawn it.
 */
function requireJournal(
  { report }: World,
  { database }: Pick<VirtualDisk, "database">,
  isFormer: (process: VirtualProcess, chain: number) => boolean = () => false,
): FacilitatorSurroundings["onSend"] {
  const current = database.prepare("SELECT 1 FROM attempt WHERE hash = ?");
  const ever = database.prepare("SELECT 1 FROM recorded WHERE hash = ?");
  return ({ hash, nonce }, by, chain) => {
    const found = (isFormer(by, chain) ? ever : current).get(hash);
    if (found === undefined) report(`the transaction with nonce ${nonce} was sent and is not in the journal`);
  };
}
