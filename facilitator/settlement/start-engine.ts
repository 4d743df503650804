import type { Engine, EngineDependencies, EngineOptions } from "./engine.ts";
import { startLedgerComparison, type ComparedLedger } from "./comparison/ledger-comparison.ts";
import { createFinishedSettlements } from "./ledger/finished-settlements.ts";
import { createLedger, type Ledger } from "./ledger/ledger.ts";
import { openLedgerStore } from "./ledger/open-ledger.ts";
import { startRetention } from "./ledger/retention.ts";
import { createSales, type Sales } from "./ledger/sales.ts";
import { createOwnership, type Ownership } from "./ownership.ts";
import { startSharedEngine } from "./leader/shared-settler.ts";
import { createSharedLedger } from "./leader/shared-ledger.ts";
import { createSettler } from "./settler.ts";
import { startSettling, type SettlingOptions } from "./settling.ts";

/** Engine whose ledger is compared with the chain. */
type ComparedEngine = Engine & Pick<ComparedLedger, "comparison"> & Readonly<{ sales: Sales }>;

/** Dependencies of an engine; `noteMinedIn` receives the record of sales. */
type EngineParts = Omit<EngineDependencies, "noteMined"> &
  Readonly<{ noteMinedIn: (sales: Sales) => EngineDependencies["noteMined"] }>;

/** Opens the ledger and resumes its started settlements, alone or as one of the replicas that share it. */
export async function startEngine(
  options: EngineOptions,
  { noteMinedIn, ...given }: EngineParts,
): Promise<ComparedEngine> {
  const { chain, clock, pause, log, openStore = openLedgerStore } = given;
  const { path, retentionDays, compareIntervalMs, ...shared } = options.ledger;
  await using resources = new AsyncDisposableStack();
  const { isHandedOver } = options;
  const { store, isShared } = await openStore({ path, isHandedOver, ...shared }, { log });
  resources.use(store);
  const ledger = createLedger(options, { store, clock, guard: async () => undefined });
  const ownership = createOwnership(options, { store, clock });
  const sales = createSales(options, { store, clock });
  const dependencies = { ...given, noteMined: noteMinedIn(sales) };
  resources.use(startRetention({ retentionDays }, { ledger, ownership, sales, clock, pause, log }));
  const engine = isShared
    ? startSharedEngine(options, { ...dependencies, shared: createSharedLedger(options, { store, clock }) })
    : await startSoleEngine(options, { ...dependencies, ledger, ownership });
  resources.use(engine);
  const finished = createFinishedSettlements(options, { store });
  const isSettler = () => engine.nextNonce() !== undefined;
  const compared = resources.use(
    startLedgerComparison({ compareIntervalMs }, { finished, chain, clock, pause, log, isSettler }),
  );
  const owned = resources.move();
  return { ...engine, sales, comparison: compared.comparison, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Starts the engine of a process with exclusive use of its ledger: requester and settler are the same process, and communicate in memory. */
async function startSoleEngine(
  options: SettlingOptions,
  dependencies: EngineDependencies & Readonly<{ ledger: Ledger; ownership: Ownership }>,
): Promise<Engine> {
  const { ledger } = dependencies;
  const { book, funds, submitter, ...settling } = await startSettling(options, dependencies);
  return {
    ...createSettler(options.settlement, { ...dependencies, book, funds, submitter }),
    noteVerified: dependencies.ownership.noteVerified,
    forgetRefused: dependencies.ownership.forgetRefused,
    progress: async ({ id }) => {
      const running = book.get(id);
      return running === undefined ? ledger.progress(id) : { state: "begun", owner: running.owner };
    },
    inFlight: book.size,
    oldestMs: book.oldestMs,
    nextNonce: settling.nextNonce,
    onHead: settling.onHead,
    readiness: () => ({ ok: true, message: "in this process" }),
    // No other process can use its ledger.
    yieldTerm: async () => undefined,
    [Symbol.asyncDispose]: () => settling[Symbol.asyncDispose](),
  };
}
