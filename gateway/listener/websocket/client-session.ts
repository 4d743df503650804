import type { RawData, WebSocket } from "ws";
import { responseErrors } from "../../errors.ts";
import { formatErrorResponse } from "../../json-rpc/read-answer.ts";
import { isBatch, readCallId } from "../../json-rpc/read-message.ts";
import { ResponseMemory } from "../../responses/response-memory.ts";
import type { ResponseFlow } from "../../responses/response-sink.ts";
import { createTextSink } from "../../responses/text-sink.ts";
import type { PolicySettings } from "../../settings/policy.ts";
import { PendingTurn } from "../../wire/shared-turns.ts";
import type { ListenerContext } from "../listener-context.ts";
import { ClientSender, closeSoon, terminateSoon, tryAgainLaterCode, type ConnectedClient } from "./client-sender.ts";
import { ClientSubscriptions } from "./client-subscriptions.ts";

export type ClientLimits = Readonly<{ callsInFlight: number; queueBytes: number; pingIntervalMs: number }>;

/** Close code of a server that stops (RFC 6455, section 7.4.1). */
const goingAway = 1001;
/** Size from which an incomplete message's bytes count towards the buffer limit. */
const smallBytes = 16_384;

/** Serves a WebSocket: its messages, in the same way as HTTP bodies, and its subscriptions. Ends when the socket closes. */
export class ClientSession {
  readonly #client: ConnectedClient;
  readonly #limits: ClientLimits;
  readonly #context: ListenerContext;
  readonly #sender: ClientSender;
  readonly #subscriptions: ClientSubscriptions;
  readonly #turn: PendingTurn;
  readonly #flows = new Set<ResponseFlow>();
  readonly #closed = Promise.withResolvers<void>();
  /** Messages that can't be handled yet: at most those of one read, because the socket is paused while any are waiting. */
  readonly #waiting: Buffer[] = [];
  readonly #callerKey = () => this.#client.caller.key;
  #inFlight = 0;
  #isRunning = false;
  #isLeaving = false;
  #isAlive = true;
  #unsentAtPing = 0;
  /** Bytes of an incomplete message, and how many of them are counted in memory. */
  #partialBytes = 0;
  #partialHeld = 0;

  constructor(client: ConnectedClient, limits: ClientLimits, context: ListenerContext) {
    const { socket, connection, memory } = client;
    this.#client = client;
    this.#limits = limits;
    this.#context = context;
    this.#sender = new ClientSender(client, limits.queueBytes, context);
    this.#subscriptions = new ClientSubscriptions(client, this.#sender, context);
    this.#turn = new PendingTurn(context.turns, () => {
      if (!this.#isLeaving) this.#proceed(true);
    });
    // Each client's pings start with its connection, so thousands of clients are not pinged at once.
    const pings = setInterval(() => this.#ping(), limits.pingIntervalMs).unref();
    // Runs before the WebSocket's own listener: the piece that completes a message is counted before the count is reset for that message.
    const count = (piece: Buffer) => this.#countPiece(piece.length);
    connection.prependListener("data", count);
    connection.on("drain", () => {
      this.#sender.drained();
      if (!this.#isLeaving) this.#proceed(false);
    });
    socket.on("message", (data: RawData) => this.#receive(toBuffer(data)));
    socket.on("pong", () => (this.#isAlive = true));
    respondToPings(socket);
    // The WebSocket has sent the close reason and discards what it reads: a TCP reset during a long message would discard the reason, too.
    socket.on("error", () => {
      connection.off("data", count);
      terminateSoon(socket);
    });
    socket.on("close", () => {
      clearInterval(pings);
      this.#subscriptions[Symbol.dispose]();
      for (const flow of this.#flows) flow.cancel();
      this.#flows.clear();
      this.#closed.resolve();
      memory[Symbol.dispose]();
    });
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Graceful close: finishes the in-flight calls, then closes with 1001; settles when the client is closed. */
  leave(): Promise<void> {
    this.#isLeaving = true;
    this.#client.socket.pause();
    this.#closeIfDone();
    return this.#closed.promise;
  }

  #receive(message: Buffer): void {
    const { memory } = this.#client;
    memory.release(this.#partialHeld);
    memory.waits(-this.#partialHeld);
    this.#partialBytes = 0;
    this.#partialHeld = 0;
    if (this.#isLeaving) return;
    this.#waiting.push(message);
    this.#proceed(false);
  }

  /** Counts the bytes of an incomplete message that the WebSocket buffers. */
  #countPiece(bytes: number): void {
    const { socket, memory } = this.#client;
    this.#partialBytes += bytes;
    if (this.#partialBytes <= smallBytes) return;
    const more = this.#partialBytes - this.#partialHeld;
    if (memory.tryAcquire(more)) {
      memory.waits(more);
      this.#partialHeld = this.#partialBytes;
    } else closeSoon(socket, tryAgainLaterCode, "too much is buffered; try again later");
  }

  get #mayHandle(): boolean {
    return this.#inFlight < this.#limits.callsInFlight && this.#sender.unsentBytes <= this.#limits.queueBytes;
  }

  /** Handles waiting messages as far as the limits and the other callers allow; otherwise pauses the socket. */
  #proceed(isOwnTurn: boolean): void {
    // A message that is answered synchronously re-enters this method; the loop then sees its changes.
    if (this.#isRunning || this.#turn.isWaiting) return;
    this.#isRunning = true;
    let mayBegin = isOwnTurn;
    while (this.#waiting.length > 0 && this.#mayHandle && (mayBegin || !this.#turn.waitForTurn(this.#callerKey))) {
      mayBegin = false;
      const message = this.#waiting.shift();
      if (message !== undefined) this.#handle(message);
      // Messages are delivered one by one, even those from a single read: only the clock reveals how many there are.
      this.#turn.waitIfOver(this.#callerKey);
    }
    this.#isRunning = false;
    const { socket } = this.#client;
    if (this.#turn.isWaiting || !this.#mayHandle) socket.pause();
    else if (socket.isPaused) socket.resume();
  }

  /** Answers a message like an HTTP body. Notifications of a new subscription are deferred until the response is sent. */
  #handle(message: Buffer): void {
    const { caller, memory, traceContext } = this.#client;
    const { limits } = this.#context.policy().settings;
    const afterReply: (() => void)[] = [];
    const held = new ResponseMemory(memory);
    let flow: ResponseFlow | undefined;
    let isDone = false;
    this.#inFlight += 1;
    const reply = (answer: string | readonly Buffer[]) => {
      isDone = true;
      held[Symbol.dispose]();
      if (flow !== undefined) this.#flows.delete(flow);
      this.#inFlight -= 1;
      if (answer.length > 0) this.#sender.send(answer);
      for (const run of afterReply) run();
      if (this.#isLeaving) this.#closeIfDone();
      else this.#proceed(false);
    };
    const sink = createTextSink(
      computeAnswerBytes(message, limits),
      held,
      (answer) =>
        reply(
          typeof answer === "string"
            ? formatErrorResponse(readCallId(message, limits), responseErrors[answer])
            : answer.text,
        ),
      ({ parts }) => reply(parts),
    );
    const subscriptions = this.#subscriptions.forMessage((run) => afterReply.push(run));
    flow = this.#context.handle(message, { caller, memory: held, traceContext, subscriptions }, sink);
    if (!isDone) this.#flows.add(flow);
  }

  #closeIfDone(): void {
    if (this.#inFlight > 0) return;
    const { socket } = this.#client;
    // The client's close frame still has to be read.
    socket.resume();
    this.#sender.afterAll(() => {
      socket.close(goingAway, "going away");
      this.#closed.resolve();
    });
  }

  /** Pings the client, or drops it if it did not respond to the last ping. */
  #ping(): void {
    const { socket } = this.#client;
    const { unsentBytes } = this.#sender;
    // A paused client's pongs are not read; it is alive if it reads the bytes sent to it.
    const isExcused = socket.isPaused && (unsentBytes === 0 || unsentBytes < this.#unsentAtPing);
    this.#unsentAtPing = unsentBytes;
    if (!this.#isAlive && !isExcused) {
      this.#context.dropped("silent");
      socket.terminate();
      return;
    }
    this.#isAlive = false;
    if (socket.readyState === socket.OPEN) socket.ping();
  }
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** Answers only the last ping of a tick (RFC 6455, section 5.5.3): thousands fit into one read, and each pong is a write. */
function respondToPings(socket: WebSocket): void {
  let latest: Buffer | undefined;
  const answer = () => {
    const data = latest;
    latest = undefined;
    if (data !== undefined && socket.readyState === socket.OPEN) socket.pong(data);
  };
  socket.on("ping", (data: Buffer) => {
    if (latest === undefined) setImmediate(answer);
    latest = data;
  });
}

type MessageLimits = PolicySettings["limits"];

/** Max bytes of an error that replaces a batch entry, excluding its id. */
const rejectionBytes = 128;

/** Computes the max bytes of a response. A batch keeps its entries within the limit; errors with their ids are added on top. */
function computeAnswerBytes(message: Buffer, { batchResponseBytes, batchItems }: MessageLimits): number {
  return isBatch(message) ? batchResponseBytes + message.length + batchItems * rejectionBytes : batchResponseBytes;
}
