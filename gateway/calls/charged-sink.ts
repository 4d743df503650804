import type { Caller } from "../callers/caller.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { AnswerSink, AnswerSource } from "../answers/answer-sink.ts";
import type { Work } from "./call-work.ts";

/** What an answer's length is charged to. */
export type AnswerCharge = Pick<Work, "policy" | "tier"> &
  Readonly<{
    dependencies: Readonly<{ limiter: Pick<RateLimiter, "owe"> }>;
    context: Readonly<{ caller: Caller }>;
  }>;

/** Length of a streamed answer that is charged at a time, and most that a caller who goes away is not charged for. */
const stepBytes = 65_536;
const bytesOfKiB = 1_024;

/** The sink of a call whose answer is charged by its length; where rates are not limited, the sink itself. */
export function chargedSink(sink: AnswerSink, charge: AnswerCharge): AnswerSink {
  const { enabled, unitsPerAnswerKiB } = charge.policy.settings.rateLimit;
  return enabled && unitsPerAnswerKiB > 0 ? new ChargedSink(sink, charge) : sink;
}

/**
 * Charges a caller for the length of an answer as it comes, beyond what every answer has free. Nobody knows a length before the call is
 * made: the caller owes it, and calls again when it is paid.
 */
class ChargedSink implements AnswerSink {
  readonly #sink: AnswerSink;
  readonly #charge: AnswerCharge;
  #cameBytes = 0;
  #chargedKiB = 0;

  constructor(sink: AnswerSink, charge: AnswerCharge) {
    this.#sink = sink;
    this.#charge = charge;
  }

  text(json: string, source: AnswerSource): void {
    this.#came(json.length);
    this.#sink.text(json, source);
  }

  bytes(body: Buffer, source: AnswerSource): void {
    this.#came(body.length);
    this.#sink.bytes(body, source);
  }

  refused(json: string, retryAfterSeconds: number): void {
    this.#sink.refused(json, retryAfterSeconds);
  }

  begin(lengthBytes: number | undefined, source: AnswerSource): void {
    this.#sink.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    this.#cameBytes += bytes.length;
    if (this.#cameBytes - this.#chargedKiB * bytesOfKiB >= stepBytes) this.#settle();
    return this.#sink.chunk(bytes);
  }

  end(): void {
    this.#settle();
    this.#sink.end();
  }

  broken(): void {
    this.#settle();
    this.#sink.broken();
  }

  #came(bytes: number): void {
    this.#cameBytes = bytes;
    if (bytes >= bytesOfKiB) this.#settle();
  }

  #settle(): void {
    const { dependencies, policy, tier, context } = this.#charge;
    const { unitsPerAnswerKiB, freeAnswerKiB } = policy.settings.rateLimit;
    const kib = Math.floor(this.#cameBytes / bytesOfKiB);
    const dueKiB = kib - Math.max(freeAnswerKiB, this.#chargedKiB);
    this.#chargedKiB = kib;
    if (dueKiB > 0) dependencies.limiter.owe(context.caller.key, dueKiB * unitsPerAnswerKiB, tier);
  }
}
