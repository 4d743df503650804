import { isUtf8 } from "node:buffer";
import { batchTooLarge, callTooLarge, rpcErrors, type RpcError } from "../errors.ts";
import { CallReader } from "./call-reader.ts";
import type { Message, MessageLimits, BadCall, Call } from "./call.ts";
import { skipSpace } from "./json-scanner.ts";

/** A message that is being parsed. A batch is parsed call by call, so that other work can run between two calls of a long batch. */
export type MessageReading = Readonly<{
  /** Parses the next call. Returns undefined while there are more, then the message. Must not be called after it has returned a message. */
  next: () => Message | undefined;
}>;

/**
 * Parses a JSON-RPC 2.0 message: one call or a batch. Never throws; an invalid call becomes the error that geth's `rpc` package returns for
 * it. If an envelope has duplicate keys, the last one counts, as in geth; the node never sees the earlier ones.
 */
export function readMessage(body: Buffer, limits: MessageLimits): Message {
  if (!isBatch(body)) return readSingle(body, limits);
  const reading = beginMessage(body, limits);
  for (;;) {
    const message = reading.next();
    if (message !== undefined) return message;
  }
}

/** Whether a message, if valid, is a batch. */
export function isBatch(body: Buffer): boolean {
  return body[skipSpace(body, 0)] === 0x5b;
}

/** Starts parsing a message in steps, none of which takes longer than one call of the max size. */
export function beginMessage(body: Buffer, limits: MessageLimits): MessageReading {
  if (!isBatch(body)) return { next: () => readSingle(body, limits) };
  if (!isUtf8(body)) return { next: () => buildRejection(rpcErrors.parse) };
  return new BatchReading(new CallReader(body, skipSpace(body, 0), limits), limits);
}

function readSingle(body: Buffer, limits: MessageLimits): Message {
  if (body.length > limits.callBytes) return buildRejection(callTooLarge(limits), "message");
  if (!isUtf8(body)) return buildRejection(rpcErrors.parse);
  const reader = new CallReader(body, skipSpace(body, 0), limits);
  const call = reader.read();
  if (reader.isTooLarge) return buildRejection(callTooLarge(limits), "message");
  return reader.isAtEnd() ? { kind: "single", call } : buildRejection(rpcErrors.parse);
}

/** Parses a batch one call at a time. A batch with any unparsable part is rejected as a whole. */
class BatchReading {
  readonly #reader: CallReader;
  readonly #limits: MessageLimits;
  readonly #calls: (Call | BadCall)[] = [];
  #hasBegun = false;

  /**
   * @param reader Positioned at the opening bracket of the batch.
   */
  constructor(reader: CallReader, limits: MessageLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  next(): Message | undefined {
    const reader = this.#reader;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      if (reader.openBatch() === "empty")
        return buildRejection(reader.isAtEnd() ? rpcErrors.emptyBatch : rpcErrors.parse);
    }
    if (this.#calls.length === this.#limits.batchItems)
      return buildRejection(batchTooLarge(this.#limits.batchItems), "batch");
    const call = reader.read();
    if (reader.isTooLarge) return buildRejection(callTooLarge(this.#limits), "message");
    this.#calls.push(call);
    switch (reader.nextOfBatch()) {
      case "more":
        return undefined;
      case "end":
        return reader.isAtEnd() ? { kind: "batch", calls: this.#calls } : buildRejection(rpcErrors.parse);
      case "broken":
        return buildRejection(rpcErrors.parse);
    }
  }
}

function buildRejection(error: RpcError, limit?: BadCall["limit"]): Message {
  return { kind: "single", call: { id: "null", error, ...(limit && { limit }) } };
}
