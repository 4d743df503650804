import { Pool } from "undici";
import { parseJson, readResponses, writeCalls, type JsonRpcResponse } from "#daemon/json-rpc.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { CallLines, lines, type CallLocation, type WaitingCall } from "./call-lines.ts";
import { ChainError, type ChainFault } from "./chain-error.ts";

/** URL of the node, its time limit per call (measured from when the call is made), and its max calls per batch. */
export type BatchingClientOptions = Readonly<{ url: string; timeoutMs: number; batchCallsMax?: number | undefined }>;

/** Called after each HTTP request, for metrics. */
export type JsonRpcObserver = (
  seen: Readonly<{ calls: number; durationMs: number; outcome: "ok" | ChainFault }>,
) => void;

/**
 * JSON-RPC client that batches concurrent calls: under load many payments share one HTTP request, and a single call is sent without delay.
 * Calls are queued in lines, so that verifications never delay settlements.
 */
export type BatchingClient = AsyncDisposable &
  Readonly<{
    /**
     * Calls a method; without a `place`, on the process's own behalf.
     *
     * @throws {ChainError} when the node returns no JSON-RPC response; its error responses are values.
     * @throws {AbandonedError} when the place's signal aborts.
     */
    call: (method: string, params: readonly unknown[], place?: CallLocation) => Promise<JsonRpcResponse>;
  }>;

const usualBatchCallsMax = 100;
/** Each line leaves one request free for every more urgent line. */
const requestsInFlightMax = 6;
const waitingCallsMax = 20_000;
const ownPlace: CallLocation = { line: "upkeep", caller: "" };

/** Creates a client for one node. Disposal closes its connections and ends waiting calls. */
export function createBatchingClient(
  { url, timeoutMs, batchCallsMax = usualBatchCallsMax }: BatchingClientOptions,
  { observe }: Readonly<{ observe: JsonRpcObserver }>,
): BatchingClient {
  const transport = createHttpTransport({ url, timeoutMs, connectionsMax: requestsInFlightMax });
  const waiting = new CallLines({ timeoutMs, waitingMax: waitingCallsMax });
  let requestsInFlight = 0;
  let isFlushPlanned = false;

  const send = async (batch: readonly WaitingCall[]): Promise<void> => {
    const startedMs = performance.now();
    const report = (outcome: "ok" | ChainFault) =>
      observe({ calls: batch.length, durationMs: performance.now() - startedMs, outcome });
    const over = new AbortController();
    const giveUp = () => over.abort(new ChainError("timeout", "nobody waits for the node's answer any more"));
    void Promise.allSettled(batch.map(({ ended }) => ended)).then(giveUp);
    try {
      const answers = requireAnswers(await transport.post(writeCalls(batch.map(({ call }) => call)), over.signal));
      report("ok");
      for (const [place, { answer, fail, call }] of batch.entries()) {
        const given = answers.get(place);
        if (given === undefined) fail(new ChainError("bad_answer", `the node left ${call.method} unanswered`));
        else answer(given);
      }
    } catch (error) {
      report(error instanceof ChainError ? error.fault : "bad_answer");
      for (const { fail } of batch) fail(error);
    }
  };

  const flush = (): void => {
    isFlushPlanned = false;
    for (const [rank, line] of lines.entries()) {
      while (waiting.has(line) && requestsInFlight < requestsInFlightMax - rank) {
        requestsInFlight += 1;
        void send(waiting.acquire(line, batchCallsMax)).finally(() => {
          requestsInFlight -= 1;
          flush();
        });
      }
    }
  };

  return {
    call: async (method, params, place = ownPlace) => {
      const { ended } = waiting.add({ method, params }, place);
      if (!isFlushPlanned) setImmediate(flush);
      isFlushPlanned = true;
      return ended;
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/**
 * Parses the responses, keyed by the position of their calls. @throws {ChainError} when the text is not a JSON-RPC response, or is an error
 * for the whole batch.
 */
function requireAnswers(text: string): ReadonlyMap<number, JsonRpcResponse> {
  const read = readResponses(text);
  if (read?.ok === true) return read.byPlace;
  if (read?.ok === false)
    throw new ChainError("refused", `the node refused: ${read.error.message} (code ${read.error.code})`);
  const expected = parseJson(text) === undefined ? "JSON" : "a JSON-RPC response";
  throw new ChainError("bad_answer", `the node answered something else than ${expected}`);
}

/** URL of the node, time limit of each phase of a request, and max connections. */
export type HttpTransportOptions = Readonly<{ url: string; timeoutMs: number; connectionsMax: number }>;

/** Sends JSON to one URL. Connections open on demand; disposal closes them and ends waiting requests. */
export type HttpTransport = AsyncDisposable &
  Readonly<{
    /**
     * @throws {ChainError} when no response arrives before the signal aborts, or the response is not a success; the signal's reason is also
     * a ChainError.
     */
    post: (body: string, signal: AbortSignal) => Promise<string>;
  }>;

const connectTimeoutMaxMs = 10_000;
const responseBytesMax = 32 * 1024 * 1024;
/** The first request on a kept-alive connection that the node has just closed fails; one retry gets a new connection. */
const connectionRetriesMax = 1;

function createHttpTransport({ url, timeoutMs, connectionsMax }: HttpTransportOptions): HttpTransport {
  const endpoint = parseHttpEndpoint(url);
  const { origin, pathname, search } = new URL(endpoint.url);
  const request = {
    path: `${pathname}${search}`,
    method: "POST",
    headers: { "content-type": "application/json", ...endpoint.headers },
  } as const;
  const pool = new Pool(origin, {
    connections: connectionsMax,
    connect: { lookup: lookupName },
    connectTimeout: Math.min(timeoutMs, connectTimeoutMaxMs),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: responseBytesMax,
  });
  const postOnce = async (body: string, signal: AbortSignal): Promise<string> => {
    const response = await pool.request({ ...request, body, signal });
    const text = await response.body.text();
    if (response.statusCode >= 200 && response.statusCode < 300) return text;
    throw new ChainError("bad_answer", `the node answered HTTP ${response.statusCode} instead of a JSON-RPC response`);
  };
  const postWithRetry = async (body: string, signal: AbortSignal): Promise<string> => {
    for (let retries = 0; ; retries += 1) {
      try {
        return await postOnce(body, signal);
      } catch (error) {
        if (retries >= connectionRetriesMax || !isLostConnection(error)) throw error;
      }
    }
  };
  return {
    post: async (body, signal) => {
      try {
        return await postWithRetry(body, signal);
      } catch (error) {
        throw toChainError(error);
      }
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  };
}

const lostConnectionCodes = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
const timeoutCodes = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"]);

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && "code" in error && lostConnectionCodes.has(String(error.code));
}

function toChainError(error: unknown): ChainError {
  if (error instanceof ChainError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (timeoutCodes.has(code ?? "")) {
    return new ChainError("timeout", `the node did not answer in time (${code})`, { cause: error });
  }
  return new ChainError("unreachable", `the node can't be reached (${code ?? message})`, { cause: error });
}
