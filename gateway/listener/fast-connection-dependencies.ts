import type { Socket } from "node:net";
import type { Identify } from "../callers/identify.ts";
import type { MessageHandler } from "../calls/message-handler.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Outbox } from "../wire/outbox.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { FastAnswerHeads } from "./fast-answer.ts";
import type { FastRequestRules } from "./fast-requests.ts";
import type { PeerFacts } from "../callers/request-facts.ts";

/** How long a fast connection waits for its client; `requestTimeoutMs` for the whole of a request. */
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
    /** Milliseconds of a clock that goes on when `expire` is about to be called. */
    clock: () => number;
    /** Gives the connection, with bytes that were read but not answered, to node:http for good. */
    handOver: (socket: Socket, unread: Buffer) => void;
    /** Called once, when it is closed or given away. */
    closed: () => void;
  }>;
