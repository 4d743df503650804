import type { Engine, EngineDependencies } from "./engine.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Ownership } from "./ownership.ts";
import { createSettler } from "./settler.ts";
import { startSettling, type SettlingOptions } from "./settling.ts";

/** The engine of a process that has its ledger to itself: whoever asks and whoever settles are the same, and meet in memory. */
export async function startSoleEngine(
  options: SettlingOptions,
  dependencies: EngineDependencies & Readonly<{ ledger: Ledger; ownership: Ownership }>,
): Promise<Engine> {
  const { ledger } = dependencies;
  const { book, submitter, ...settling } = await startSettling(options, dependencies);
  return {
    ...createSettler(options.settlement, { ...dependencies, book, submitter }),
    noteVerified: dependencies.ownership.noteVerified,
    progress: async ({ id }) => {
      const running = book.get(id);
      return running === undefined ? ledger.progress(id) : { state: "begun", owner: running.owner };
    },
    inFlight: book.size,
    nextNonce: settling.nextNonce,
    onHead: settling.onHead,
    readiness: () => ({ ok: true, message: "in this process" }),
    [Symbol.asyncDispose]: () => settling[Symbol.asyncDispose](),
  };
}
