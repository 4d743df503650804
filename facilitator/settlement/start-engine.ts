import type { Engine, EngineDependencies, EngineOptions } from "./engine.ts";
import { startLedgerComparison, type ComparedLedger } from "./comparison/ledger-comparison.ts";
import { createFinishedSettlements } from "./ledger/finished-settlements.ts";
import { createLedger, type Ledger } from "./ledger/ledger.ts";
import type { LedgerStore } from "./ledger/open-ledger.ts";
import { createSales, type Sales } from "./ledger/sales.ts";
import { createOwnership, type Ownership } from "./ownership.ts";
import { createForeignSettlement, type AdoptForeign } from "./foreign-settlement.ts";
import { startSharedEngine } from "./leader/shared-settler.ts";
import { createSharedLedger } from "./leader/shared-ledger.ts";
import { createSettler } from "./settler.ts";
import { startSettling, type SettlingOptions } from "./settling.ts";

/** Engine whose ledger is compared with the chain. */
type ComparedEngine = Engine &
  Pick<ComparedLedger, "comparison"> &
  Pick<Ownership, "wasVerified"> &
  Readonly<{ sales: Sales; adopt: AdoptForeign }>;

/** Dependencies of an engine; `recordMinedIn` receives the record of sales. */
export type EngineParts = Omit<EngineDependencies, "recordMined"> &
  LedgerStore &
  Readonly<{ recordMinedIn: (sales: Sales) => EngineDependencies["recordMined"] }>;

/** Resumes the settlements that the ledger has of one network, alone or as one of the replicas that share it. */
export async function startEngine(
  options: EngineOptions,
  { recordMinedIn, ...given }: EngineParts,
): Promise<ComparedEngine> {
  const { chain, clock, pause, log, store, isShared } = given;
  const { compareIntervalMs } = options;
  await using resources = new AsyncDisposableStack();
  const ledger = createLedger(options, { store, clock, guard: async () => undefined });
  const ownership = createOwnership(options, { store, clock });
  const sales = createSales(options, { store, clock });
  const dependencies = { ...given, recordMined: recordMinedIn(sales) };
  const engine = isShared
    ? startSharedEngine(options, { ...dependencies, shared: createSharedLedger(options, { store, clock }) })
    : await startSoleEngine(options, { ...dependencies, ledger, ownership });
  resources.use(engine);
  const finished = createFinishedSettlements(options, { store });
  const isSettler = () => engine.signerStates() !== undefined;
  const compared = resources.use(
    startLedgerComparison({ compareIntervalMs }, { finished, chain, clock, pause, log, isSettler }),
  );
  const adopt = createForeignSettlement({ ...options.settlement, ...options }, { ...given, store, ownership, ledger });
  const owned = resources.move();
  return {
    ...engine,
    adopt,
    wasVerified: ownership.wasVerified,
    sales,
    comparison: compared.comparison,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Starts the engine of a process with exclusive use of its ledger: requester and settler are the same process, and communicate in memory. */
async function startSoleEngine(
  options: SettlingOptions,
  dependencies: EngineDependencies & Readonly<{ ledger: Ledger; ownership: Ownership }>,
): Promise<Engine> {
  const { ledger } = dependencies;
  const { book, funds, queues, ...settling } = await startSettling(options, dependencies);
  return {
    ...createSettler(options.settlement, { ...dependencies, book, funds, queues }),
    recordVerified: dependencies.ownership.recordVerified,
    forgetRejected: dependencies.ownership.forgetRejected,
    progress: async ({ id }) => {
      const running = book.get(id);
      // Until the ledger was read, the owner is the last caller, which may have sent a copy of a payment that was settled long ago.
      const isKnown = running !== undefined && (running.unrecorded || running.signed);
      const recorded = isKnown ? undefined : await ledger.progress(id);
      return recorded ?? (running && { state: "begun", owner: running.owner });
    },
    inFlight: book.size,
    oldestMs: book.oldestMs,
    signerStates: queues.states,
    onHead: settling.onHead,
    readiness: () => ({ ok: true, message: "in this process" }),
    // No other process can use its ledger.
    yieldTerm: async () => undefined,
    [Symbol.asyncDispose]: () => settling[Symbol.asyncDispose](),
  };
}
