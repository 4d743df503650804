import type { ConnectionStanding } from "#daemon/http/connections/held-connection.ts";
import type { FastConnectionWaits } from "./fast-connection-dependencies.ts";

/** Longest time between two sweeps for connections that have waited too long. */
const longestSweepMs = 1_000;
/** Time in which a new connection has to send its first bytes, as in node:http. */
const firstBytesMs = 10_000;

/** Computes the time between two sweeps for connections that have waited too long. */
export function computeSweepIntervalMs({
  idleTimeoutMs,
  requestTimeoutMs,
  slowReaderTimeoutMs,
}: FastConnectionWaits): number {
  return Math.min(longestSweepMs, idleTimeoutMs / 2, requestTimeoutMs / 2, slowReaderTimeoutMs / 2);
}

/**
 * A connection's wait for its client. The clock is that of the sweep, which stands still in between: a wait may be taken for
 * longer than it was by one interval, and so much is added before it counts as over. None ends before the time that its client was given.
 */
export class FastWait {
  readonly #waits: FastConnectionWaits;
  readonly #clock: () => number;
  #activeAt: number;
  #timeoutMs: number;
  #hasRequested = false;
  /** Time of the first bytes of a request that is not whole yet. */
  #begunAt: number | undefined;

  constructor(waits: FastConnectionWaits, clock: () => number) {
    this.#waits = waits;
    this.#clock = clock;
    this.#activeAt = clock();
    this.#timeoutMs = Math.min(firstBytesMs, waits.idleTimeoutMs);
  }

  /** Whether a request has begun and is not whole. */
  get isUnfinished(): boolean {
    return this.#begunAt !== undefined;
  }

  /** Notes that bytes came, or that an answer was sent. */
  noteActivity(): void {
    this.#activeAt = this.#clock();
  }

  /** Notes that a request is not whole yet. */
  noteUnfinished(): void {
    this.#begunAt ??= this.#clock();
  }

  /** Notes that a request is whole, or read on elsewhere. */
  noteWhole(): void {
    this.#begunAt = undefined;
    this.#hasRequested = true;
    this.#timeoutMs = this.#waits.idleTimeoutMs;
  }

  /** Returns what the connection has waited for too long; undefined if the wait is not over. */
  over(now: number): "request" | "anything" | undefined {
    const slackMs = computeSweepIntervalMs(this.#waits);
    if (this.#begunAt !== undefined) {
      return now - this.#begunAt > this.#waits.requestTimeoutMs + slackMs ? "request" : undefined;
    }
    return now - this.#activeAt > this.#timeoutMs + slackMs ? "anything" : undefined;
  }

  standing(isBusy: boolean): ConnectionStanding {
    if (isBusy) return { kind: "busy", sinceMs: this.#activeAt };
    if (this.#begunAt !== undefined) return { kind: "unfinished", sinceMs: this.#begunAt };
    return { kind: this.#hasRequested ? "kept" : "new", sinceMs: this.#activeAt };
  }
}
