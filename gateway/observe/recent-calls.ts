import type { CallOutcome } from "./meter.ts";
import type { Traffic } from "./traffic.ts";

/** Looks that are kept of a window. */
const looksKept = 30;

/** Outcomes that are a matter of the call or its caller, not of the node and the gateway: they are not counted. */
const ofTheCaller: ReadonlySet<CallOutcome> = new Set(["refused", "limited", "cancelled"]);

/** Calls that ended within a window, those left out that their own caller is to blame for. */
export type RecentCalls = Readonly<{
  windowMs: number;
  calls: number;
  /** Calls that got no answer from the node, by method. */
  failed: ReadonlyMap<string, number>;
  /** Calls that were turned away for lack of room. */
  shed: number;
}>;

/** One look at the counters: how many calls have ended since the start, by method and outcome. */
type Look = Readonly<{ atMs: number; counts: ReadonlyMap<string, number> }>;

/** What the gateway's calls of a window came to, taken from the counters now and then: no call pays for it. */
export class CallHistory {
  readonly #windowMs: number;
  #looks: Look[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Looks at the counters, and compares them with those of the window's begin, or of the first look after `clear`. */
  add({ calls }: Pick<Traffic, "calls">, atMs: number): RecentCalls {
    const counts = new Map<string, number>();
    for (const { method, outcome, count } of calls) {
      if (ofTheCaller.has(outcome)) continue;
      const key = `${outcome} ${method}`;
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
    const last = this.#looks.at(-1);
    if (last === undefined || atMs - last.atMs >= this.#windowMs / looksKept) this.#looks.push({ atMs, counts });
    // The youngest look that is old enough stays, to compare with.
    while (this.#looks[1] !== undefined && this.#looks[1].atMs <= atMs - this.#windowMs) this.#looks.shift();
    return { windowMs: this.#windowMs, ...compare(this.#looks[0]?.counts ?? counts, counts) };
  }

  /** Forgets the calls until now. */
  clear(): void {
    this.#looks = [];
  }
}

function compare(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): Omit<RecentCalls, "windowMs"> {
  const failed = new Map<string, number>();
  let calls = 0;
  let shed = 0;
  for (const [key, count] of now) {
    const ended = count - (before.get(key) ?? 0);
    if (ended <= 0) continue;
    calls += ended;
    const [outcome, method = ""] = key.split(" ");
    if (outcome === "failed") failed.set(method, ended);
    if (outcome === "overload") shed += ended;
  }
  return { calls, failed, shed };
}
