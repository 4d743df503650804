import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { pause } from "#daemon/time.ts";
import { formatResultResponse } from "../json-rpc/read-answer.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import {
  respondBatchTooLarge,
  gethLimits,
  joinLikeGeth,
  readAsGeth,
  sendAsGeth,
  type HttpLimits,
} from "./geth-http.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

export type NodeRequest = Readonly<{ id: unknown; method: string; params: readonly unknown[]; raw: string }>;

/** Reaction of the fake node to a call: it returns a result, or writes anything directly to the response. */
export type NodeBehaviour = (request: NodeRequest, response: ServerResponse) => unknown;

/** Returned by a behaviour that writes the response itself. */
export const responseWritten = Symbol("by hand");

/** How a node responds to a batch if not in order: maps the entries (JSON texts) to a body or a status. */
export type BatchHabit = (entries: readonly string[]) => string | number;

/** A node with test-controlled responses. It has geth's HTTP interface and geth's limits. */
export type FakeNode = AsyncDisposable &
  Readonly<{
    httpUrl: string;
    webSocketUrl: string;
    requests: NodeRequest[];
    respondAs: (behaviour: NodeBehaviour) => void;
    /**
     * From now on, answers other methods with "0x1" immediately, but leaves calls of these methods waiting. The returned list gets a
     * function for each that answers it with this result.
     */
    hold: (result?: unknown, isHeld?: (method: string) => boolean) => (() => void)[];
    batches: number[];
    /** Sets how batches are processed from now on; undefined means as in geth. */
    respondToBatches: (habit: BatchHabit | undefined) => void;
    delay: (ms: number) => void;
    /**
     * Makes a block the head, in place of all blocks from its number on, and notifies subscribers; it has no timestamp unless `fields` do.
     */
    newHead: (number: number, hash?: string, fields?: Readonly<{ timestamp: string }>) => void;
    /** Sends a notification for every `logs` subscription. */
    newLog: (log: object) => void;
    subscriptions: () => number;
    cutLink: () => void;
    /** Sets whether calls are served; if not, their connections are closed. */
    takeCalls: (taken: boolean) => void;
    /** Returns the number of calls that got no response because their connection was closed. */
    rejectedCalls: () => number;
    takeLinks: (taken: boolean) => void;
    /** Accepts a WebSocket upgrade that another server's port received. */
    takeUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  }>;

type State = {
  head: ReturnType<typeof buildBlock>;
  behaviour: NodeBehaviour;
  batchHabit: BatchHabit | undefined;
  isTaking: boolean;
  rejected: number;
  delayMs: number;
};

/** Starts a fake node on free ports. Its head is block 1000. */
export async function startFakeNode(given: Partial<HttpLimits> = {}): Promise<FakeNode> {
  const httpLimits = { ...gethLimits, ...given };
  const state: State = {
    head: buildBlock(1_000),
    behaviour: () => "0x1",
    batchHabit: undefined,
    isTaking: true,
    rejected: 0,
    delayMs: 0,
  };
  const chain = new Map([[1_000, state.head]]);
  const requests: NodeRequest[] = [];
  const respondBuiltIn = (method: string, params: readonly unknown[]) => {
    if (method !== "eth_getBlockByNumber") return undefined;
    if (params[0] === "latest") return state.head;
    if (params[0] === "finalized") return buildBlock(Number(state.head.number) - 64);
    return chain.get(Number(params[0]));
  };
  const batches: number[] = [];
  const respondTo = createBodyResponse({ state, httpLimits, builtIn: respondBuiltIn, requests, batches });
  const server = createServer((request, response) => {
    if (!state.isTaking) {
      state.rejected += 1;
      return void response.destroy();
    }
    return void respondAsGeth(request, response, { state, httpLimits, answerTo: respondTo });
  });
  const link = serveSubscriptions(server);
  const { port, ...local } = await listenLocally(server);
  return {
    httpUrl: `http://127.0.0.1:${port}`,
    webSocketUrl: `ws://127.0.0.1:${port}`,
    requests,
    respondAs: (behaviour) => void (state.behaviour = behaviour),
    hold: (result, isHeld) => holdCalls(state, result, isHeld),
    batches,
    respondToBatches: (habit) => void (state.batchHabit = habit),
    delay: (ms) => void (state.delayMs = ms),
    newHead: (number, hash, fields) => {
      state.head = { ...buildBlock(number, hash, chain.get(number - 1)?.hash), ...fields };
      chain.set(number, state.head);
      for (const gone of chain.keys()) if (gone > number) chain.delete(gone);
      link.notify("newHeads", state.head);
    },
    newLog: (log) => link.notify("logs", log),
    subscriptions: link.subscriptions,
    cutLink: link.cut,
    takeCalls: (taken) => void (state.isTaking = taken),
    rejectedCalls: () => state.rejected,
    takeLinks: link.take,
    takeUpgrade: link.takeUpgrade,
    [Symbol.asyncDispose]: async () => {
      link.cut();
      await local[Symbol.asyncDispose]();
    },
  };
}

function holdCalls(state: State, result: unknown = "0x1", isHeld: (method: string) => boolean = () => true) {
  const ends: (() => void)[] = [];
  state.behaviour = ({ method, raw }, response) => {
    if (!isHeld(method)) return "0x1";
    ends.push(() => response.end(formatResultResponse(readId(raw), JSON.stringify(result))));
    return responseWritten;
  };
  return ends;
}

type BodyResponder = Readonly<{
  state: State;
  httpLimits: HttpLimits;
  /** Returns the node's own result; undefined if the behaviour decides. */
  builtIn: (method: string, params: readonly unknown[]) => unknown;
  requests: NodeRequest[];
  batches: number[];
}>;

/** Returns the JSON text to respond with, or reports that the behaviour writes the response itself. */
type RespondToBody = (raw: string, response: ServerResponse) => string | typeof responseWritten;

function createBodyResponse({
  state,
  httpLimits,
  builtIn: respondBuiltIn,
  requests,
  batches,
}: BodyResponder): RespondToBody {
  const respondToSingle: RespondToBody = (raw, response) => {
    const call = { ...(JSON.parse(raw) as Omit<NodeRequest, "raw">), raw };
    const own = respondBuiltIn(call.method, call.params);
    if (own === undefined) requests.push(call);
    const result = own ?? state.behaviour(call, response);
    return result === responseWritten ? responseWritten : formatResultResponse(readId(raw), JSON.stringify(result));
  };
  const batch = (raws: readonly string[], response: ServerResponse) => {
    batches.push(raws.length);
    if (raws.length > httpLimits.batchItems) return respondBatchTooLarge(readId(raws[0] ?? ""));
    const responses: { id: string; text: string }[] = [];
    for (const raw of raws) {
      const text = respondToSingle(raw, response);
      // One response written directly is the response to the whole batch.
      if (text === responseWritten) return responseWritten;
      responses.push({ id: readId(raw), text });
    }
    const made = state.batchHabit?.(responses.map(({ text }) => text)) ?? joinLikeGeth(responses, httpLimits);
    if (typeof made === "string") return made;
    response.writeHead(made, { "Content-Type": "text/plain" }).end("no batches");
    return responseWritten;
  };
  return (raw, response) =>
    raw.startsWith("[") ? batch(splitElements(raw), response) : respondToSingle(raw, response);
}

async function respondAsGeth(
  request: IncomingMessage,
  response: ServerResponse,
  {
    state,
    httpLimits,
    answerTo: respondTo,
  }: Readonly<{ state: State; httpLimits: HttpLimits; answerTo: RespondToBody }>,
): Promise<void> {
  const raw = await readAsGeth(request, response, httpLimits);
  if (raw === undefined) return;
  if (state.delayMs > 0) await pause(state.delayMs);
  const text = respondTo(raw, response);
  if (text !== responseWritten) sendAsGeth(request, response, text);
}

function readId(raw: string): string {
  return /"id":(.*?),"method"/.exec(raw)?.[1] ?? "null";
}

function serveSubscriptions(server: Server) {
  const state = { isTaking: true };
  const sockets = new WebSocketServer({ server, verifyClient: () => state.isTaking });
  const subscriptions = new Map<string, { socket: WebSocket; type: string }>();
  let last = 0;
  sockets.on("connection", (socket) => {
    socket.on("message", (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as { id: number; method: string; params: string[] };
      if (method !== "eth_subscribe") {
        subscriptions.delete(params[0] ?? "");
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: true }));
        return;
      }
      last += 1;
      const subscription = `0x${last.toString(16)}`;
      subscriptions.set(subscription, { socket, type: params[0] ?? "" });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: subscription }));
    });
    socket.on("close", () => {
      for (const [id, own] of subscriptions) if (own.socket === socket) subscriptions.delete(id);
    });
  });
  return {
    subscriptions: () => subscriptions.size,
    take: (taken: boolean) => {
      state.isTaking = taken;
    },
    takeUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      sockets.handleUpgrade(request, socket, head, (taken) => sockets.emit("connection", taken, request)),
    cut: () => {
      for (const socket of sockets.clients) socket.terminate();
    },
    notify: (type: string, result: object) => {
      for (const [subscription, own] of subscriptions) {
        if (own.type !== type) continue;
        const params = { subscription, result };
        own.socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
      }
    },
  };
}

function buildBlock(
  number: number,
  hash = `0x${number.toString(16).padStart(64, "0")}`,
  parentHash = `0x${"0".repeat(64)}`,
) {
  return { number: `0x${number.toString(16)}`, hash, parentHash };
}
