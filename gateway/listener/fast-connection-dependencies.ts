import type { Socket } from "node:net";
import type { Identify } from "../callers/identify.ts";
import type { MessageHandler } from "../calls/message-handler.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Outbox } from "../wire/outbox.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { FastResponseHeads } from "./fast-answer.ts";
import type { FastRequestRules } from "./fast-requests.ts";
import type { PeerInfo } from "../callers/request-facts.ts";

/** Timeouts of a fast connection, in ms; `requestTimeoutMs` applies to a whole request. */
export type FastConnectionWaits = Readonly<{
  idleTimeoutMs: number;
  requestTimeoutMs: number;
  slowReaderTimeoutMs: number;
}>;

export type FastConnectionDependencies = FastRequestRules &
  Readonly<{
    heads: FastResponseHeads;
    outbox: Outbox;
    memory: MemoryBudget;
    /** Returns the address against which a client's memory is counted. */
    addressOf: (peer: PeerInfo) => string;
    identify: Identify;
    handle: MessageHandler;
    turns: SharedTurns;
    isDraining: () => boolean;
    waits: FastConnectionWaits;
    /** Returns the milliseconds of a clock that advances right before `expire` is called. */
    clock: () => number;
    /** Passes the connection permanently to node:http, with its unanswered bytes. */
    handOver: (socket: Socket, unread: Buffer) => void;
    /** Called once, when the connection closes or is passed to node:http. */
    closed: () => void;
  }>;
