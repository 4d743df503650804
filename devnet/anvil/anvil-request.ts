import { Agent } from "node:http";
import { createJsonRpcClient } from "#daemon/http/json-rpc-client.ts";
import type { JsonRpcAnswer, JsonRpcFailure } from "#daemon/json-rpc.ts";

/** The chain gave no answer: the connection broke or the chain is too slow. */
export class AnvilUnreachableError extends Error {
  override readonly name = "AnvilUnreachableError";
  readonly code = "anvil_unreachable";
}

/** The chain answered with a JSON-RPC error. */
export class AnvilRequestError extends Error {
  override readonly name = "AnvilRequestError";
  /** JSON-RPC error code. */
  readonly code: number;
  /** Data of the JSON-RPC error, e.g. the bytes of a revert. */
  readonly data: unknown;

  constructor(method: string, error: JsonRpcFailure) {
    super(error.message, { cause: method });
    this.code = error.code;
    this.data = error.data;
  }
}

export type AnvilClientOptions = Readonly<{
  url: string;
  requestTimeoutMs: number;
  /** Largest answer that is read; a dump of the chain holds all of it. */
  answerBytesMax: number;
  connectionsMax: number;
}>;

/** JSON-RPC client of the chain, over keep-alive connections. */
export type AnvilClient = Disposable &
  Readonly<{
    /**
     * @throws {AnvilRequestError} when the chain answers with an error.
     * @throws {AnvilUnreachableError} when there is no answer.
     */
    request<T>(method: string, params?: readonly unknown[]): Promise<T>;
  }>;

// Not the time in which this process ran: that takes ten timers for each call, and a chain gets many.
const timeout = (ms: number) => AbortSignal.timeout(ms);

/** Creates a client; it connects with the first call. Disposing of it closes the connections. */
export function createAnvilClient(options: AnvilClientOptions): AnvilClient {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connectionsMax, scheduling: "fifo" });
  const timeoutMs = options.requestTimeoutMs;
  const call = createJsonRpcClient({ ...options, timeoutMs, agent }, { timeout });
  return {
    request: async <T>(method: string, params: readonly unknown[] = []): Promise<T> => {
      let answer: JsonRpcAnswer;
      try {
        answer = await call(method, params);
      } catch (cause) {
        throw new AnvilUnreachableError(`no answer from the chain to ${method}: ${(cause as Error).message}`, {
          cause,
        });
      }
      if (!answer.ok) throw new AnvilRequestError(method, answer.error);
      return answer.result as T;
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
