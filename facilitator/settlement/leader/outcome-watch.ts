import type { Hex } from "#x402/hex.ts";
import { createPollLoop, type PollDependencies } from "../engine.ts";
import type { Recorded } from "../settlement.ts";
import type { Requests } from "./requests.ts";

/** Record of an ended settlement. */
export type CompletedRecord = Exclude<Recorded, { state: "begun" }>;

/** Settlement awaited by a caller in this process. */
export type Watched = Readonly<{
  /** Final record, or `gone` if it no longer exists. Never rejects. */
  ended: Promise<CompletedRecord | "gone">;
  /** Its newest known transaction. */
  transaction: () => Hex | undefined;
  /** Stops waiting. */
  leave: () => void;
}>;

/** Polls for the outcomes of all settlements awaited in this process, with one query at a time. */
export type OutcomeWatch = ReturnType<typeof createOutcomeWatch>;

type Entry = {
  waits: number;
  transaction: Hex | undefined;
  end: (ended: CompletedRecord | "gone") => void;
  ended: Promise<CompletedRecord | "gone">;
};

type OutcomeWatchDependencies = Pick<PollDependencies, "log" | "pause" | "random"> &
  Readonly<{ requests: Pick<Requests, "states"> }>;

/** Creates a watch that sends no queries while no caller waits. */
export function createOutcomeWatch(
  { intervalMs }: Readonly<{ intervalMs: number }>,
  { requests, ...dependencies }: OutcomeWatchDependencies,
) {
  const entries = new Map<Hex, Entry>();
  let waits = 0;

  const settle = (id: Hex, entry: Entry, recorded: Recorded | undefined): void => {
    if (recorded?.state === "begun") {
      entry.transaction = recorded.transaction ?? entry.transaction;
      return;
    }
    entries.delete(id);
    entry.end(recorded ?? "gone");
  };
  const poll = async (): Promise<void> => {
    // Only entries from before the query; later ones may be too new for its result.
    const requested = [...entries];
    const states = await requests.states(requested.map(([id]) => id));
    for (const [id, entry] of requested) if (entries.get(id) === entry) settle(id, entry, states.get(id));
  };
  const loop = createPollLoop({ intervalMs }, { ...dependencies, hasWork: () => entries.size > 0, poll });

  const openEntry = (id: Hex): Entry => {
    const known = entries.get(id);
    if (known !== undefined) return known;
    const { promise: ended, resolve: end } = Promise.withResolvers<CompletedRecord | "gone">();
    const entry: Entry = { waits: 0, transaction: undefined, end, ended };
    entries.set(id, entry);
    return entry;
  };
  return {
    watch: (id: Hex): Watched => {
      const entry = openEntry(id);
      entry.waits += 1;
      waits += 1;
      loop.wake();
      return {
        ended: entry.ended,
        transaction: () => entry.transaction,
        leave: () => {
          entry.waits -= 1;
          waits -= 1;
          if (entry.waits === 0 && entries.get(id) === entry) entries.delete(id);
        },
      };
    },
    /** Returns the number of waits. */
    size: (): number => waits,
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
}
