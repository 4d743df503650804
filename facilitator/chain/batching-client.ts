import type { z } from "zod";
import { FairQueue } from "#daemon/fair-shares.ts";
import { parseJson, readResponses, writeCalls, type JsonRpcCall, type JsonRpcResponse } from "#daemon/json-rpc.ts";
import { findChainTraits } from "#daemon/chain-traits.ts";
import type { Pause } from "#daemon/time.ts";
import type { Logger } from "#daemon/log/log.ts";
import { createFailover, createHttpTransport, type HttpTransport } from "./node-transport.ts";
import { AbandonedError, ChainError, type ChainFault } from "./chain-error.ts";
import type { chain } from "./settings.ts";

export type BatchingClientOptions = Readonly<{ timeoutMs: number; batchCallsMax?: number | undefined }>;

export type JsonRpcObserver = (
  observation: Readonly<{ calls: number; durationMs: number; outcome: "ok" | ChainFault }>,
) => void;

/** Priorities of calls to the node: first watching, sending and tracking, then payments to settle, then payments to verify. */
const callPriorities = ["upkeep", "settling", "verifying"] as const;

export type CallLocation = Readonly<{
  line: (typeof callPriorities)[number];
  /** The caller that made the call; callers in a queue are served round-robin. */
  caller: string;
  signal?: AbortSignal | undefined;
}>;

/**
 * JSON-RPC client that batches concurrent calls: under load many payments share one HTTP request, and a single call is
 * sent without delay. Calls are queued by priority, so that verifications never delay settlements.
 */
export type BatchingClient = AsyncDisposable &
  Readonly<{
    /**
     * Calls a method; without a `location`, on behalf of the process itself.
     *
     * @throws {ChainError} when the node returns no JSON-RPC response; its error responses are values.
     * @throws {AbandonedError} when the location's signal aborts.
     */
    call: (method: string, params: readonly unknown[], location?: CallLocation) => Promise<JsonRpcResponse>;
  }>;

/** A call without a response yet; it is removed from its queue when it times out or its caller disconnects. */
type WaitingCall = Readonly<{
  call: JsonRpcCall & Pick<CallLocation, "caller">;
  ended: Promise<JsonRpcResponse>;
  resolve: (response: JsonRpcResponse) => void;
  fail: (error: unknown) => void;
}>;

const defaultBatchCallsMax = 100;
/** Max concurrent requests. Each priority leaves one request free for every higher priority. */
export const requestsInFlightMax = 6;
const waitingCallsMax = 20_000;
const ownLocation: CallLocation = { line: "upkeep", caller: "" };

export function createBatchingClient(
  { timeoutMs, batchCallsMax = defaultBatchCallsMax }: BatchingClientOptions,
  { transport, observe }: Readonly<{ transport: HttpTransport; observe: JsonRpcObserver }>,
): BatchingClient {
  const queues = {
    upkeep: new FairQueue<WaitingCall>(),
    settling: new FairQueue<WaitingCall>(),
    verifying: new FairQueue<WaitingCall>(),
  };
  let requestsInFlight = 0;
  let isFlushPlanned = false;

  const send = async (batch: readonly WaitingCall[]): Promise<void> => {
    const startedMs = performance.now();
    const report = (outcome: "ok" | ChainFault) =>
      observe({ calls: batch.length, durationMs: performance.now() - startedMs, outcome });
    const over = new AbortController();
    let hasResponse = false;
    const abortUnneeded = () => {
      if (!hasResponse) over.abort(new ChainError("timeout", "no caller is waiting for the node's response"));
    };
    void Promise.allSettled(batch.map(({ ended }) => ended)).then(abortUnneeded);
    try {
      const responses = requireResponses(await transport.post(writeCalls(batch.map(({ call }) => call)), over.signal));
      hasResponse = true;
      report("ok");
      for (const [location, { resolve: response, fail, call }] of batch.entries()) {
        const nodeResponse = responses.get(location);
        if (nodeResponse === undefined)
          fail(new ChainError("bad_answer", `the node did not respond to ${call.method}`));
        else response(nodeResponse);
      }
    } catch (error) {
      report(error instanceof ChainError ? error.fault : "bad_answer");
      for (const { fail } of batch) fail(error);
    }
  };

  const flush = (): void => {
    isFlushPlanned = false;
    for (const [rank, line] of callPriorities.entries()) {
      while (queues[line].size > 0 && requestsInFlight < requestsInFlightMax - rank) {
        requestsInFlight += 1;
        void send(takeBatch(queues[line], batchCallsMax)).finally(() => {
          requestsInFlight -= 1;
          flush();
        });
      }
    }
  };

  return {
    call: async (method, params, location = ownLocation) => {
      const { ended } = enqueue(queues[location.line], { method, params }, location, timeoutMs);
      if (!isFlushPlanned) setImmediate(flush);
      isFlushPlanned = true;
      return ended;
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

function takeBatch(queue: FairQueue<WaitingCall>, most: number): readonly WaitingCall[] {
  const batch: WaitingCall[] = [];
  while (batch.length < most) {
    const next = queue.next(() => true);
    if (next === undefined) break;
    batch.push(next);
  }
  return batch;
}

/** @throws {ChainError} when the queue is full. */
function enqueue(
  queue: FairQueue<WaitingCall>,
  call: JsonRpcCall,
  { caller, signal }: CallLocation,
  timeoutMs: number,
): WaitingCall {
  if (queue.size >= waitingCallsMax)
    throw new ChainError("rejected", `${waitingCallsMax} calls are already queued for the node, which is the limit`);
  const { promise, resolve, reject } = Promise.withResolvers<JsonRpcResponse>();
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
    queue.delete(ticket);
  };
  const fail = (error: unknown) => {
    end();
    reject(error);
  };
  const leave = () => fail(new AbandonedError("the caller disconnected"));
  const expire = () => fail(new ChainError("timeout", `the node did not respond within ${timeoutMs} ms`));
  const response = (nodeResponse: JsonRpcResponse) => {
    end();
    resolve(nodeResponse);
  };
  const ticket: WaitingCall = { call: { ...call, caller }, ended: promise, resolve: response, fail };
  const timer = setTimeout(expire, timeoutMs);
  queue.add(ticket);
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted === true) leave();
  return ticket;
}

/**
 * Parses the responses, keyed by the position of their calls. @throws {ChainError} when the text is not a JSON-RPC response, or is an error
 * for the whole batch.
 */
function requireResponses(text: string): ReadonlyMap<number, JsonRpcResponse> {
  const parsed = readResponses(text);
  if (parsed?.ok === true) return parsed.byIndex;
  if (parsed?.ok === false)
    throw new ChainError("rejected", `the node returned an error: ${parsed.error.message} (code ${parsed.error.code})`);
  const expectedFormat = parseJson(text) === undefined ? "JSON" : "a JSON-RPC response";
  throw new ChainError("bad_answer", `the node returned something other than ${expectedFormat}`);
}

/**
 * Gives each call of a client its own deadline, far shorter than a settlement's, for health checks of the node. A late call is cancelled,
 * so that calls to a hanging node don't pile up.
 */
export function limitCallTime(
  rpc: BatchingClient,
  { deadlineMs }: Readonly<{ deadlineMs: number }>,
  { pause }: Readonly<{ pause: Pause }>,
): Pick<BatchingClient, "call"> {
  return {
    call: async (method, params) => {
      const [late, completed] = [new AbortController(), new AbortController()];
      void pause(deadlineMs, completed.signal).then(() => late.abort());
      try {
        return await rpc.call(method, params, { ...ownLocation, signal: late.signal });
      } catch (error) {
        if (!(error instanceof AbandonedError)) throw error;
        throw new ChainError("timeout", `the node did not respond within ${deadlineMs} ms`, { cause: error });
      } finally {
        completed.abort();
      }
    },
  };
}

export function connectToNode(
  {
    id,
    rpcUrl,
    fallbackRpcUrls,
    rpcTimeoutMs: timeoutMs,
    batchCallsMax = findChainTraits(id).batchCallsMax,
  }: z.output<typeof chain>,
  { observe, ...times }: Readonly<{ observe: JsonRpcObserver; monotonicMs: () => number; log: Logger }>,
) {
  const connect = (url: string) => createHttpTransport({ url, timeoutMs, connectionsMax: requestsInFlightMax });
  const nodes = [rpcUrl, ...fallbackRpcUrls].map((url) => ({ transport: connect(url), origin: new URL(url).origin }));
  const [first] = nodes;
  const transport =
    nodes.length === 1 && first !== undefined ? first.transport : createFailover(nodes, { chainId: id, ...times });
  return createBatchingClient({ timeoutMs, batchCallsMax }, { transport, observe });
}
