/**
 * Where an answer came from, as the header `X-Gatehouse-Source` tells it. `mixed`: the parts of a batch or of a split range came
 * from several places, or began to be sent before all were there.
 */
export type AnswerSource = "gateway" | "cache" | "coalesced" | "node" | "mixed";

/** Where an answer of several parts came from, with one part more. */
export function sourceWith(sofar: AnswerSource | undefined, part: AnswerSource): AnswerSource {
  return sofar === undefined || sofar === part ? part : "mixed";
}

/**
 * Takes the answer of one call or batch: `text`, `bytes` or `refused` once, or `begin`, `chunk`…, and `end` or `broken`.
 * Text is a binary string: one character a byte.
 */
export type AnswerSink = Readonly<{
  /** A whole answer. */
  text: (json: string, source: AnswerSource) => void;
  /** A whole answer as the node sent it. The bytes hold until this returns: what is to stay is copied. */
  bytes: (body: Buffer, source: AnswerSource) => void;
  /** A whole answer that a limit made: HTTP tells it with 429 and Retry-After. */
  refused: (json: string, retryAfterSeconds: number) => void;
  /** A streamed answer begins; its length in bytes, when the node told it. */
  begin: (lengthBytes: number | undefined, source: AnswerSource) => void;
  /** False asks the sender to wait for `flow.resume`. */
  chunk: (bytes: Buffer) => boolean;
  end: () => void;
  /** The streamed answer can't be completed; the reader must not take what it has for whole. */
  broken: () => void;
}>;

/** The sending side of an answer under way, as its reader steers it. */
export type AnswerFlow = Readonly<{
  /** Goes on after `chunk` answered false. */
  resume: () => void;
  /** The reader is gone: nothing more is sent to its sink. */
  cancel: () => void;
}>;

/** The flow of an answer that was complete before anyone could steer it. */
export const finishedFlow: AnswerFlow = { resume: () => undefined, cancel: () => undefined };

/** Takes an answer that nobody reads: to a notification. */
export const discardedAnswer: AnswerSink = {
  text: () => undefined,
  bytes: () => undefined,
  refused: () => undefined,
  begin: () => undefined,
  chunk: () => true,
  end: () => undefined,
  broken: () => undefined,
};
