import type { SqlStore } from "#daemon/sql/store.ts";
import type { Engine, EngineDependencies } from "../engine.ts";
import type { Ownership } from "../ownership.ts";
import type { SettlingOptions } from "../settling.ts";
import { startCandidate } from "./candidate.ts";
import { createOutcomeWatch } from "./outcome-watch.ts";
import { createRequests } from "./requests.ts";
import { createSharedSettler } from "./shared-settler.ts";

/**
 * The engine of one of several replicas. Each takes payments, judges them and tells their outcome; one at a time settles for all,
 * because the signer's nonces follow one another, and the next one takes over when it is gone. They meet in the database only.
 */
export async function startSharedEngine(
  options: SettlingOptions,
  dependencies: EngineDependencies & Readonly<{ store: SqlStore; ownership: Ownership }>,
): Promise<Engine> {
  const { store, clock, log } = dependencies;
  const requests = createRequests(options, { store, clock, guard: async () => undefined });
  const duty = startCandidate(options, dependencies);
  const watch = createOutcomeWatch({ intervalMs: options.settlement.pollIntervalMs }, { requests, log });
  const onAsked = () => duty.term()?.wake();
  return {
    ...createSharedSettler(options.settlement, { ...dependencies, requests, watch, onAsked }),
    noteVerified: dependencies.ownership.noteVerified,
    progress: async ({ id }) => (await requests.states([id])).get(id),
    inFlight: () => duty.term()?.settling.book.size() ?? 0,
    nextNonce: () => duty.term()?.settling.nextNonce(),
    onHead: () => duty.term()?.settling.onHead(),
    readiness: duty.readiness,
    [Symbol.asyncDispose]: async () => {
      await watch[Symbol.asyncDispose]();
      await duty[Symbol.asyncDispose]();
    },
  };
}
