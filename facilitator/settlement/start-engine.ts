import { startLedgerComparison, type ComparedLedger } from "./comparison/ledger-comparison.ts";
import { startSoleEngine, type Engine, type EngineDependencies, type EngineOptions } from "./engine.ts";
import { createForeignSettlement, type AdoptForeign } from "./foreign-settlement.ts";
import { createSharedLedger } from "./leader/shared-ledger.ts";
import { startSharedEngine } from "./leader/shared-settler.ts";
import { createLedger } from "./ledger/ledger.ts";
import type { LedgerStore } from "./ledger/open-ledger.ts";
import { createOwnership, type Ownership } from "./ownership.ts";

/** Engine whose ledger is compared with the chain, and which takes over what third parties settled. */
type ComparedEngine = Engine &
  Pick<ComparedLedger, "comparison"> &
  Pick<Ownership, "wasVerified"> &
  Readonly<{ adopt: AdoptForeign }>;

/** Resumes the settlements that the ledger has of one network, alone or as one of the replicas that share it. */
export async function startEngine(
  options: EngineOptions & Readonly<{ compareIntervalMs: number }>,
  dependencies: EngineDependencies & LedgerStore,
): Promise<ComparedEngine> {
  const { isShared } = dependencies;
  await using resources = new AsyncDisposableStack();
  const ledger = createLedger(options, dependencies);
  const ownership = createOwnership(options, dependencies);
  const engine = isShared
    ? startSharedEngine(options, { ...dependencies, shared: createSharedLedger(options, dependencies) })
    : await startSoleEngine(options, { ...dependencies, ledger, ownership });
  resources.use(engine);
  const isSettler = () => engine.signerStates() !== undefined;
  const { comparison } = resources.use(startLedgerComparison(options, { ...dependencies, isSettler }));
  const adopt = createForeignSettlement({ ...options.settlement, ...options }, { ...dependencies, ownership, ledger });
  const owned = resources.move();
  return {
    ...engine,
    adopt,
    wasVerified: ownership.wasVerified,
    comparison,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
