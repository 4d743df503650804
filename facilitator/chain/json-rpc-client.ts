import { parseJson, readAnswers, writeCalls, type JsonRpcAnswer, type JsonRpcCall } from "#daemon/json-rpc.ts";
import { ChainError, type ChainFault } from "./chain-error.ts";
import { createHttpTransport } from "./http-transport.ts";

/** Where the node is and how long it may take. */
export type JsonRpcClientOptions = Readonly<{ url: string; timeoutMs: number }>;

/** What is told about each HTTP request, for metrics. */
export type JsonRpcObserver = (
  seen: Readonly<{ calls: number; durationMs: number; outcome: "ok" | ChainFault }>,
) => void;

/**
 * A JSON-RPC client that joins calls made at the same time into one batch: under load many payments share one HTTP request, and
 * a call alone waits for nobody.
 */
export type JsonRpcClient = AsyncDisposable &
  Readonly<{
    /** @throws {ChainError} when the node gives no JSON-RPC answer at all; its error answers are values. */
    call: (method: string, params: readonly unknown[]) => Promise<JsonRpcAnswer>;
  }>;

const callsPerBatchMax = 100;
const requestsInFlightMax = 4;
const waitingCallsMax = 20_000;

type Waiting = Readonly<{
  call: JsonRpcCall;
  resolve: (answer: JsonRpcAnswer) => void;
  reject: (error: unknown) => void;
}>;

/** Opens a client for one node. Disposing of it ends its connections and what waits for them. */
export function createJsonRpcClient(
  { url, timeoutMs }: JsonRpcClientOptions,
  { observe }: Readonly<{ observe: JsonRpcObserver }>,
): JsonRpcClient {
  const transport = createHttpTransport({ url, timeoutMs, connectionsMax: requestsInFlightMax });
  const waiting: Waiting[] = [];
  let requestsInFlight = 0;
  let isFlushPlanned = false;

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const startedMs = performance.now();
    const seen = (outcome: "ok" | ChainFault) =>
      observe({ calls: batch.length, durationMs: performance.now() - startedMs, outcome });
    try {
      const answers = answersIn(await transport.post(writeCalls(batch.map(({ call }) => call))));
      seen("ok");
      for (const [place, { resolve, reject, call }] of batch.entries()) {
        const answer = answers.get(place);
        if (answer === undefined) reject(new ChainError("bad_answer", `the node left ${call.method} unanswered`));
        else resolve(answer);
      }
    } catch (error) {
      seen(error instanceof ChainError ? error.fault : "bad_answer");
      for (const { reject } of batch) reject(error);
    }
  };

  const flush = (): void => {
    isFlushPlanned = false;
    while (waiting.length > 0 && requestsInFlight < requestsInFlightMax) {
      requestsInFlight += 1;
      void send(waiting.splice(0, callsPerBatchMax)).finally(() => {
        requestsInFlight -= 1;
        flush();
      });
    }
  };

  return {
    call: (method, params) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= waitingCallsMax) {
          reject(new ChainError("refused", `${waitingCallsMax} calls wait for the node already`));
          return;
        }
        waiting.push({ call: { method, params }, resolve, reject });
        if (isFlushPlanned) return;
        isFlushPlanned = true;
        setImmediate(flush);
      }),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/** The answers by the calls' places. @throws {ChainError} when the text is no JSON-RPC response, or one that refuses all calls together. */
function answersIn(text: string): ReadonlyMap<number, JsonRpcAnswer> {
  const read = readAnswers(text);
  if (read?.ok === true) return read.byPlace;
  if (read?.ok === false)
    throw new ChainError("refused", `the node refused: ${read.error.message} (code ${read.error.code})`);
  const expected = parseJson(text) === undefined ? "JSON" : "a JSON-RPC response";
  throw new ChainError("bad_answer", `the node answered something else than ${expected}`);
}
