import type { Engine, EngineDependencies } from "../engine.ts";
import type { SettlingOptions } from "../settling.ts";
import { startCandidate } from "./candidate.ts";
import { createOutcomeWatch } from "./outcome-watch.ts";
import type { SharedLedger } from "./shared-ledger.ts";
import { createSharedSettler } from "./shared-settler.ts";

/**
 * Starts the engine of one of several replicas. Each takes payments, judges them and tells their outcome; one at a time settles for
 * all, because the signer's nonces follow one another, and the next one takes over when it is gone. They meet in the database only.
 */
export function startSharedEngine(
  options: SettlingOptions,
  dependencies: EngineDependencies & Readonly<{ shared: SharedLedger }>,
): Engine {
  const { shared } = dependencies;
  const { requests, ownership } = shared;
  const candidate = startCandidate(options, dependencies);
  const intervalMs = options.settlement.pollIntervalMs;
  const watch = createOutcomeWatch({ intervalMs }, { ...dependencies, requests });
  const onAsked = () => candidate.term()?.wake();
  return {
    ...createSharedSettler(options.settlement, { ...dependencies, requests, ownership, watch, onAsked }),
    noteVerified: ownership.noteVerified,
    progress: async ({ id }) => (await requests.states([id])).get(id),
    inFlight: () => candidate.term()?.settling.book.size() ?? 0,
    nextNonce: () => candidate.term()?.settling.nextNonce(),
    onHead: () => candidate.term()?.settling.onHead(),
    readiness: candidate.readiness,
    [Symbol.asyncDispose]: async () => {
      await watch[Symbol.asyncDispose]();
      await candidate[Symbol.asyncDispose]();
    },
  };
}
