import type { ConnectionActivity } from "#daemon/http/connections/held-connection.ts";

/** Timeouts of a fast connection, in ms; `requestTimeoutMs` applies to a whole request. */
export type FastConnectionWaits = Readonly<{
  idleTimeoutMs: number;
  requestTimeoutMs: number;
}>;

/** A clock in milliseconds that advances only with each sweep, right before `expire` is called. */
export type SweepClock = Readonly<{ nowMs: number }>;

/** Max interval between two sweeps for timed-out connections. */
const sweepMsMax = 1_000;
/** Timeout for the first bytes of a new connection, as in node:http. */
const firstBytesMs = 10_000;

/** Computes the interval between two sweeps for timed-out connections. */
export function computeSweepIntervalMs({ idleTimeoutMs, requestTimeoutMs }: FastConnectionWaits): number {
  return Math.min(sweepMsMax, idleTimeoutMs / 2, requestTimeoutMs / 2);
}

/**
 * Tracks how long a connection has been waiting for its client. Its clock advances only with each sweep, so a wait may be measured up to
 * one interval too long; timeouts are extended by that interval, so that none expires early.
 */
export class FastWait {
  readonly #waits: FastConnectionWaits;
  readonly #clock: SweepClock;
  #activeAt: number;
  #timeoutMs: number;
  #hasRequested = false;
  /** Time of the first bytes of an incomplete request. */
  #begunAt: number | undefined;

  constructor(waits: FastConnectionWaits, clock: SweepClock) {
    this.#waits = waits;
    this.#clock = clock;
    this.#activeAt = clock.nowMs;
    this.#timeoutMs = Math.min(firstBytesMs, waits.idleTimeoutMs);
  }

  /** Whether a request has started and is incomplete. */
  get isUnfinished(): boolean {
    return this.#begunAt !== undefined;
  }

  /** Records that bytes arrived or a response was sent. */
  recordActivity(): void {
    this.#activeAt = this.#clock.nowMs;
  }

  /** Records that a request is incomplete. */
  recordUnfinished(): void {
    this.#begunAt ??= this.#clock.nowMs;
  }

  /** Records that a request is complete, or is being read elsewhere. */
  recordComplete(): void {
    this.#begunAt = undefined;
    this.#hasRequested = true;
    this.#timeoutMs = this.#waits.idleTimeoutMs;
  }

  /** Returns which of the connection's waits has timed out; undefined if none has. */
  over(now: number): "request" | "anything" | undefined {
    const slackMs = computeSweepIntervalMs(this.#waits);
    if (this.#begunAt !== undefined) {
      return now - this.#begunAt > this.#waits.requestTimeoutMs + slackMs ? "request" : undefined;
    }
    return now - this.#activeAt > this.#timeoutMs + slackMs ? "anything" : undefined;
  }

  activity(isBusy: boolean): ConnectionActivity {
    if (isBusy) return { kind: "busy", sinceMs: this.#activeAt };
    if (this.#begunAt !== undefined) return { kind: "unfinished", sinceMs: this.#begunAt };
    return { kind: this.#hasRequested ? "kept" : "new", sinceMs: this.#activeAt };
  }
}
