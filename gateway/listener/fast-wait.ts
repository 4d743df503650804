import type { ConnectionStanding } from "#daemon/http/connections/held-connection.ts";
import type { FastConnectionWaits } from "./fast-connection-dependencies.ts";

/** Longest time between two looks at which connections have waited too long. */
const longestSweepMs = 1_000;
/** Time in which a new connection has to send its first bytes, as node:http has it. */
const firstBytesMs = 10_000;

/** Time between two looks at which connections have waited too long. */
export function computeSweepIntervalMs({
  idleTimeoutMs,
  requestTimeoutMs,
  slowReaderTimeoutMs,
}: FastConnectionWaits): number {
  return Math.min(longestSweepMs, idleTimeoutMs / 2, requestTimeoutMs / 2, slowReaderTimeoutMs / 2);
}

/**
 * How long a connection has waited for its client. The clock is that of the sweep, which stands still in between: a wait may be taken for
 * longer than it was by one interval, and so much is added before it counts as over. None ends before the time that its client was given.
 */
export class FastWait {
  readonly #waits: FastConnectionWaits;
  readonly #clock: () => number;
  #activeAt: number;
  #timeoutMs: number;
  #hasRequested = false;
  /** When the first bytes came of a request that is not whole yet. */
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

  /** Bytes came, or an answer is out. */
  isActive(): void {
    this.#activeAt = this.#clock();
  }

  /** A request is not whole yet. */
  begins(): void {
    this.#begunAt ??= this.#clock();
  }

  /** A request is whole, or somebody else reads it on. */
  isWhole(): void {
    this.#begunAt = undefined;
    this.#hasRequested = true;
    this.#timeoutMs = this.#waits.idleTimeoutMs;
  }

  /** What was waited for in vain. */
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
