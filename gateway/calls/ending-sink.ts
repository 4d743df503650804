import type { AnswerFlow, AnswerSink, AnswerSource } from "../answers/answer-sink.ts";

/** A sink that says so when its answer is over, before it hands on the end of it: with that the client's next request may begin. */
export class EndingSink implements AnswerSink {
  readonly #sink: AnswerSink;
  readonly #ended: () => void;

  constructor(sink: AnswerSink, ended: () => void) {
    this.#sink = sink;
    this.#ended = ended;
  }

  text(json: string, source: AnswerSource): void {
    this.#ended();
    this.#sink.text(json, source);
  }

  bytes(body: Buffer, source: AnswerSource): void {
    this.#ended();
    this.#sink.bytes(body, source);
  }

  refused(json: string, retryAfterSeconds: number): void {
    this.#ended();
    this.#sink.refused(json, retryAfterSeconds);
  }

  begin(lengthBytes: number | undefined, source: AnswerSource): void {
    this.#sink.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    return this.#sink.chunk(bytes);
  }

  end(): void {
    this.#ended();
    this.#sink.end();
  }

  broken(): void {
    this.#ended();
    this.#sink.broken();
  }
}

/** A flow that says so when its reader has given it up. */
export class EndingFlow implements AnswerFlow {
  readonly #flow: AnswerFlow;
  readonly #ended: () => void;

  constructor(flow: AnswerFlow, ended: () => void) {
    this.#flow = flow;
    this.#ended = ended;
  }

  resume(): void {
    this.#flow.resume();
  }

  cancel(): void {
    this.#flow.cancel();
    this.#ended();
  }
}
