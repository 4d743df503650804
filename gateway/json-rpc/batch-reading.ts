import type { CallReader } from "./call-reader.ts";
import type { BadCall, Call, Message } from "./call.ts";
import type { MessageLimits } from "./message-limits.ts";
import { callTooLarge, rpcErrors, type RpcError } from "../errors.ts";

/** Reads a batch, one call at a time. A batch of which any part can't be read is refused as a whole. */
export class BatchReading {
  readonly #reader: CallReader;
  readonly #limits: MessageLimits;
  readonly #calls: (Call | BadCall)[] = [];
  #hasBegun = false;

  /** @param reader Stands at the batch's opening bracket. */
  constructor(reader: CallReader, limits: MessageLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  next(): Message | undefined {
    const reader = this.#reader;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      if (reader.openBatch() === "empty") return refusal(reader.isAtEnd() ? rpcErrors.emptyBatch : rpcErrors.parse);
    }
    if (this.#calls.length === this.#limits.batchItems) return refusal(rpcErrors.batchTooLarge, "batch");
    const call = reader.read();
    if (reader.isOver) return refusal(callTooLarge(this.#limits), "message");
    this.#calls.push(call);
    switch (reader.nextOfBatch()) {
      case "more":
        return undefined;
      case "end":
        return reader.isAtEnd() ? { kind: "batch", calls: this.#calls } : refusal(rpcErrors.parse);
      case "broken":
        return refusal(rpcErrors.parse);
    }
  }
}

function refusal(error: RpcError, limit?: BadCall["limit"]): Message {
  return { kind: "single", call: { id: "null", error, ...(limit && { limit }) } };
}
