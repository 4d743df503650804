import type { Hex } from "#x402/hex.ts";
import type { SettleAnswer } from "#x402/answer.ts";
import type { Attempt, Settlement } from "./settlement.ts";

/**
 * A settlement under way. Its state changes; whoever changes it does so without an await between reading and writing. Its times are the
 * monotonic clock's, in milliseconds.
 */
export type InFlight = {
  readonly settlement: Settlement;
  /** Answer to those who wait, or the error for which nothing was sent. Never rejects. */
  readonly ended: Promise<SettleAnswer | Error>;
  readonly end: (answer: SettleAnswer | Error) => void;
  /** Signed and journalled transactions, oldest first; empty while nothing was sent. */
  attempts: readonly Attempt[];
  /** Time at which a node was last given one of the transactions; undefined if none was since this process began. */
  sentAtMs: number | undefined;
  /** Time since which the newest transaction offers its fee: by its age on the wall clock, where an earlier process signed it. */
  pricedAtMs: number;
  /** Caller that gets a success; undefined if nobody does for now. */
  owner: string | undefined;
  /** Waits for the submitter, which will sign a transaction for it. */
  queued: boolean;
  /** Its caller gave up before anything was signed; nothing will be. */
  abandoned: boolean;
  /** Its last transaction ran out of gas: the next gets the most that a settlement may use. */
  lackedGas: boolean;
  /** Time since which its transactions look lost, that is: their nonces are used and they have no receipt. */
  lostSinceMs: number | undefined;
  /** The last diagnosis that left it open, while its cause lasts: the number of diagnoses, and the time of the next. */
  diagnosed: Readonly<{ cause: string; times: number; againAtMs: number }> | undefined;
};

/** The settlements under way, by payment and by what they would use up. */
export type InFlightBook = Readonly<{
  get: (id: Hex) => InFlight | undefined;
  /** Whether another settlement uses the same authorization nonce. */
  hasRival: (settlement: Settlement) => boolean;
  add: (settlement: Settlement, attempts: readonly Attempt[]) => InFlight;
  /** Ends a settlement: it is no longer under way, and everyone who waits gets its outcome. */
  end: (entry: InFlight, answer: SettleAnswer | Error) => void;
  all: () => IteratorObject<InFlight>;
  size: () => number;
  /** Age of the oldest, in milliseconds since it was first requested; 0 when there is none. */
  oldestMs: () => number;
}>;

/** Creates an empty book. */
export function createInFlightBook({
  clock,
  monotonicMs,
}: Readonly<{ clock: () => number; monotonicMs: () => number }>): InFlightBook {
  const byId = new Map<Hex, InFlight>();
  const idByAuthorization = new Map<string, Hex>();
  return {
    get: (id) => byId.get(id),
    hasRival: (settlement) =>
      (idByAuthorization.get(formatAuthorizationKey(settlement)) ?? settlement.id) !== settlement.id,
    add: (settlement, attempts) => {
      const { promise, resolve } = Promise.withResolvers<SettleAnswer | Error>();
      const entry: InFlight = {
        settlement,
        ended: promise,
        end: resolve,
        attempts,
        sentAtMs: undefined,
        pricedAtMs: monotonicMs() - computeAge(attempts.at(-1), clock()),
        owner: settlement.owner,
        queued: false,
        abandoned: false,
        lackedGas: false,
        lostSinceMs: undefined,
        diagnosed: undefined,
      };
      byId.set(settlement.id, entry);
      idByAuthorization.set(formatAuthorizationKey(settlement), settlement.id);
      return entry;
    },
    end: (entry, answer) => {
      // One that was given up may end a second time, when its payment is under way again.
      if (byId.get(entry.settlement.id) === entry) {
        byId.delete(entry.settlement.id);
        idByAuthorization.delete(formatAuthorizationKey(entry.settlement));
      }
      entry.end(answer);
    },
    all: () => byId.values(),
    size: () => byId.size,
    oldestMs: () => {
      const nowMs = clock();
      // What is taken up comes in any order, and another replica's clock may be ahead of this one's.
      return byId.values().reduce((oldest, { settlement }) => Math.max(oldest, nowMs - settlement.begunAtMs), 0);
    },
  };
}

/** Computes the age of a transaction by the wall clock; 0 if there is none, or if the clock was ahead when it was signed. */
function computeAge(attempt: Attempt | undefined, nowMs: number): number {
  return attempt === undefined ? 0 : Math.max(0, nowMs - attempt.signedAtMs);
}

function formatAuthorizationKey({ asset, payer, authorizationNonce }: Settlement): string {
  return `${asset} ${payer} ${authorizationNonce}`.toLowerCase();
}
