import type { Socket } from "node:net";
import type { Identify } from "../callers/identify.ts";
import type { MessageHandler } from "../calls/message-handler.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Outbox } from "../wire/outbox.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { FastAnswerHeads } from "./fast-answer.ts";
import type { FastRequestRules } from "./fast-requests.ts";
import type { PeerFacts } from "../callers/request-facts.ts";

/** Times that a fast connection waits for its client, in ms; `requestTimeoutMs` for the whole of a request. */
export type FastConnectionWaits = Readonly<{
  idleTimeoutMs: number;
  requestTimeoutMs: number;
  slowReaderTimeoutMs: number;
}>;

export type FastConnectionDependencies = FastRequestRules &
  Readonly<{
    heads: FastAnswerHeads;
    outbox: Outbox;
    memory: MemoryBudget;
    /** The address that a client's memory counts for. */
    addressOf: (peer: PeerFacts) => string;
    identify: Identify;
    handle: MessageHandler;
    turns: SharedTurns;
    isDraining: () => boolean;
    waits: FastConnectionWaits;
    /** Milliseconds of a clock that advances right before `expire` is called. */
    clock: () => number;
    /** Passes the connection, with bytes that were read but not answered, to node:http for good. */
    handOver: (socket: Socket, unread: Buffer) => void;
    /** Called once, when the connection is closed or passed on. */
    closed: () => void;
  }>;
