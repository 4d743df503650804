import { createLog } from "#daemon/log/log.ts";
import type { Hex } from "#x402/hex.ts";
import { toSettlement } from "../settlement/settlement.ts";
import { createScheduler, type Scheduler } from "./scheduler.ts";
import { createSimulatedChain } from "./simulated-chain.ts";
import { createSimulatedDatabase, type Sabotage, type SimulatedDatabase } from "./simulated-database.ts";
import { startSimulatedReplica, type SimulatedReplica } from "./simulated-replica.ts";
import {
  checkEnd,
  createSamplePayments,
  createSale,
  settleUntilKnown,
  type Report,
  type Answered,
} from "./simulated-sales.ts";
import { causeTrouble } from "./simulated-trouble.ts";

/** Options of a simulation. The seed alone determines a run. */
export type SimulationOptions = Readonly<{ seed: number; sabotage?: Sabotage }>;

/** Result of a run: descriptions of violations, empty if there are none; and the numbers of terms and responses. */
export type SimulationResult = Readonly<{ problems: readonly string[]; terms: number; answers: number }>;

const startMs = 1_800_000_000_000;
/** Period in which replicas are killed and everything fails; afterwards everything must complete. */
const unrestMs = 15_000;
const horizonMs = 90_000;
const stopMs = 30_000;
const blockMs = 700;
const faultRate = 0.02;
/** Max drift of replica clocks, faster or slower than the database's; see `leaseTrustMs` for the allowed drift. */
const clockDrift = 0.1;

/**
 * Simulates two to four replicas that settle payments over one database and one chain. The scheduler chooses the order of each leg of each
 * statement and request; replicas are killed, stopped, frozen and cut off, responses are lost, and nodes drop transactions. Violations are:
 * - a write that is accepted after another term started, a settlement that is finished twice, a transaction that is sent without being
 * recorded;
 * - a term that starts while another running replica still considers itself the leader;
 * - a request that never completes, a call without a response, responses that contradict the ledger, the chain or one another.
 */
export async function simulateReplicas({ seed, sabotage }: SimulationOptions): Promise<SimulationResult> {
  const scheduler = createScheduler(seed, startMs);
  const { random, nowMs } = scheduler;
  const problems = new Set<string>();
  const report: Report = (problem) => void problems.add(`${((nowMs() - startMs) / 1_000).toFixed(2)} s: ${problem}`);
  const payments = createSamplePayments(2 + Math.floor(random() * 5), random() < 0.5);
  const settlements = payments.map((payment) => toSettlement(payment, "nobody", 0));
  const database = createSimulatedDatabase(() => Math.floor(nowMs()), sabotage);
  const replicas = new Map<string, SimulatedReplica>();
  const { isOnRecord } = watchLeaders(database, replicas, { report, nowMs });
  const onSend = (hash: Hex) => {
    if (!isOnRecord(hash)) report(`${hash} was sent and is not on record`);
  };
  const chain = createSimulatedChain({ settlements, nowMs }, { onSend });
  const isUnrest = () => nowMs() < startMs + unrestMs;
  const shared = {
    scheduler,
    database,
    chain,
    settlements,
    faultRate: () => (isUnrest() ? faultRate : 0),
    log: createLog({ service: "simulation", level: "silent" }),
  };
  let starts = 0;
  const start = (name: string) => {
    const clockRate = 1 + clockDrift * (2 * random() - 1);
    replicas.set(name, startSimulatedReplica(`${name}${(starts += 1)}`, clockRate, shared));
  };
  for (const name of ["a", "b", "c", "d"].slice(0, 2 + Math.floor(random() * 3))) start(name);
  void makeBlocks(scheduler, chain.mine);
  const trouble = causeTrouble({ scheduler, replicas, start, chain, isUnrest });
  const answered: Answered[] = [];
  // In half of the runs, all but the first come together, and may share transactions.
  const togetherMs = random() < 0.5 ? 2_000 + random() * 8_000 : undefined;
  const sales = payments.flatMap((payment, index) => {
    const afterMs = index === 0 ? random() * 1_000 : (togetherMs ?? random() * 10_000);
    const sale = createSale(payment, `sale ${index}`, afterMs);
    // A third party may have a copy of the payment, and settle it for another sale.
    return random() < 0.3 ? [sale, createSale(payment, `copy of ${index}`, random() * 10_000)] : [sale];
  });
  const asking = sales.map((sale) => settleUntilKnown(sale, { scheduler, replicas, answered, report }));
  await runUntilDone(scheduler, [trouble, ...asking], startMs + horizonMs, (count) =>
    report(`${count} requests have no end`),
  );
  const stops = [...replicas.values()].map(({ stop }) => stop());
  await runUntilDone(scheduler, stops, nowMs() + stopMs, (count) => report(`${count} replicas do not stop`));
  checkEnd({ payments, settlements, database, chain, answered, report });
  return {
    problems: [...problems],
    terms: Number(database.rows("SELECT term FROM settler")[0]?.["term"] ?? 0),
    answers: answered.length,
  };
}

async function runUntilDone(
  scheduler: Scheduler,
  work: readonly Promise<void>[],
  untilMs: number,
  onMissing: (count: number) => void,
): Promise<void> {
  let missing = work.length;
  for (const piece of work) void piece.then(() => (missing -= 1));
  if (!(await scheduler.run(() => missing === 0, untilMs))) onMissing(missing);
}

async function makeBlocks({ actor, pauseOf, random }: Scheduler, mine: () => void): Promise<never> {
  const pause = pauseOf(actor("chain"));
  for (;;) {
    await pause(blockMs * (0.5 + random()));
    mine();
  }
}

/** Checks the leaders' writes, and that no replica considers itself the leader when another one becomes it. */
function watchLeaders(
  database: SimulatedDatabase,
  replicas: ReadonlyMap<string, SimulatedReplica>,
  { report, nowMs }: Readonly<{ report: Report; nowMs: () => number }>,
): Readonly<{ isOnRecord: (hash: Hex) => boolean }> {
  let current = 0;
  const recorded = new Set<unknown>();
  database.onTerm = (term, replica) => {
    current = term;
    for (const { engine, process } of replicas.values()) {
      // A stopped or just resumed replica can't know yet. A replica whose query is delayed may restart its own term.
      const canKnow = !process.isDead && process.stoppedUntilMs < nowMs() && process.name !== replica;
      if (canKnow && engine.signerStates() !== undefined)
        report(`${replica} begins term ${term} while ${process.name} settles`);
    }
  };
  database.onLeaderWrite = (term) => {
    if (term !== current) report(`a write of term ${term} was accepted in term ${current}`);
    for (const { hash } of database.rows("SELECT hash FROM attempt")) recorded.add(hash);
    for (const { id } of database.rows("SELECT id FROM refinished")) report(`${String(id)} was finished a second time`);
  };
  return { isOnRecord: (hash) => recorded.has(hash) };
}
