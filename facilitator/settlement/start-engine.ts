import { encodeBytes, type Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { startLedgerComparison, type LedgerComparison } from "./ledger-comparison.ts";
import { startSoleEngine, type Engine, type EngineDependencies, type EngineOptions } from "./engine.ts";
import { createForeignSettlement, type AdoptForeign } from "./foreign-settlement.ts";
import { createSharedLedger } from "./leader/shared-ledger.ts";
import { startSharedEngine } from "./leader/shared-settler.ts";
import { createLedger, createRecordChecks } from "./ledger/ledger.ts";
import type { LedgerStore } from "./ledger/open-ledger.ts";
import { createOwnership, type Ownership } from "./ownership.ts";

/** Engine whose ledger is compared with the chain, and which records what third parties settled. */
export type ComparedEngine = Omit<Engine, "callInFlight"> &
  Pick<Ownership, "wasVerified"> &
  Readonly<{
    adopt: AdoptForeign;
    /** `undefined` before the first successful comparison with the chain, and in a replica that does not settle. */
    comparison: () => LedgerComparison | undefined;
    /**
     * Returns whether a payment's settlement has started with the same signature, which was valid then. Throws
     * `StoreError`.
     */
    hasBegun: (payment: Pick<SignedPayment, "id" | "callData" | "walletSignature">) => Promise<boolean>;
  }>;

/** Resumes a network's settlements from the ledger, alone or as one of the replicas that share it. */
export async function startEngine(
  options: EngineOptions & Readonly<{ compareIntervalMs: number }>,
  dependencies: EngineDependencies & LedgerStore,
): Promise<ComparedEngine> {
  const { isShared } = dependencies;
  await using resources = new AsyncDisposableStack();
  const ledger = createLedger(options, dependencies);
  const { findCall } = createRecordChecks({ ...options, ...dependencies });
  const ownership = createOwnership(options, dependencies);
  const { callInFlight, ...engine } = isShared
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
    // The ledger first: in-flight settlements stay in flight until they are recorded.
    hasBegun: async (payment) =>
      hasSameSignature(await findCall(payment.id), payment) || hasSameSignature(callInFlight(payment.id), payment),
    wasVerified: ownership.wasVerified,
    comparison,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns whether a call has a payment's signature, perhaps for another amount: contracts take the signature last. */
function hasSameSignature(
  call: Hex | undefined,
  { callData, walletSignature }: Pick<SignedPayment, "callData" | "walletSignature">,
): boolean {
  if (call === undefined || call === callData) return call !== undefined;
  return walletSignature !== undefined && call.endsWith(encodeBytes(walletSignature));
}
