import type { Engine, EngineDependencies, EngineOptions } from "./engine.ts";
import { startLedgerComparison, type ComparedLedger } from "./comparison/ledger-comparison.ts";
import { createFinishedSettlements } from "./ledger/finished-settlements.ts";
import { createLedger } from "./ledger/ledger.ts";
import { openLedgerStore } from "./ledger/open-ledger.ts";
import { createOwnership } from "./ownership.ts";
import { startRetention } from "./ledger/retention.ts";
import { startSharedEngine } from "./leader/shared-engine.ts";
import { createSharedLedger } from "./leader/shared-ledger.ts";
import { startSoleEngine } from "./sole-engine.ts";

/** An engine whose ledger is compared with the chain. */
type ComparedEngine = Engine & Pick<ComparedLedger, "comparison">;

/** Opens the ledger and takes up what it says was begun, alone or as one of the replicas that share it. */
export async function startEngine(options: EngineOptions, dependencies: EngineDependencies): Promise<ComparedEngine> {
  const { chain, clock, log } = dependencies;
  const { path, retentionDays, compareIntervalMs, ...shared } = options.ledger;
  await using resources = new AsyncDisposableStack();
  const { store, isShared } = await openLedgerStore({ path, ...shared }, { log });
  resources.use(store);
  const ledger = createLedger(options, { store, clock, guard: async () => undefined });
  const ownership = createOwnership(options, { store, clock });
  resources.use(startRetention({ retentionDays }, { ledger, clock, log }));
  const engine = isShared
    ? startSharedEngine(options, { ...dependencies, shared: createSharedLedger(options, { store, clock }) })
    : await startSoleEngine(options, { ...dependencies, ledger, ownership });
  resources.use(engine);
  const finished = createFinishedSettlements(options, { store });
  const isSettler = () => engine.nextNonce() !== undefined;
  const compared = resources.use(
    startLedgerComparison({ compareIntervalMs }, { finished, chain, clock, log, isSettler }),
  );
  const owned = resources.move();
  return { ...engine, comparison: compared.comparison, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
