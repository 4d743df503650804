import { Agent } from "node:http";
import { createJsonRpcClient } from "#daemon/http/json-rpc-client.ts";
import type { JsonRpcResponse, JsonRpcFailure } from "#daemon/json-rpc.ts";

/** The chain did not respond: the connection broke or the request timed out. */
export class AnvilUnreachableError extends Error {
  override readonly name = "AnvilUnreachableError";
  readonly code = "anvil_unreachable";
}

/** The chain responded with a JSON-RPC error. */
export class AnvilRequestError extends Error {
  override readonly name = "AnvilRequestError";
  readonly code: number;
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
  /** Max response size; a dump contains the whole chain. */
  responseBytesMax: number;
  connectionsMax: number;
}>;

export type AnvilClient = Disposable &
  Readonly<{
    /**
     * @throws {AnvilRequestError} when the chain responds with an error.
     * @throws {AnvilUnreachableError} when the chain does not respond.
     */
    request<T>(method: string, params?: readonly unknown[]): Promise<T>;
  }>;

// This timeout includes time during which the process was suspended: excluding it would take ten timers per call, and a chain gets many
// calls.
const timeout = (ms: number) => AbortSignal.timeout(ms);

/** Creates a client that connects on the first call. Disposing of it closes the connections. */
export function createAnvilClient(options: AnvilClientOptions): AnvilClient {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connectionsMax, scheduling: "fifo" });
  const timeoutMs = options.requestTimeoutMs;
  const call = createJsonRpcClient({ ...options, timeoutMs, agent }, { timeout });
  return {
    request: async <T>(method: string, params: readonly unknown[] = []): Promise<T> => {
      let answer: JsonRpcResponse;
      try {
        answer = await call(method, params);
      } catch (cause) {
        throw new AnvilUnreachableError(`no response from the chain to ${method}: ${(cause as Error).message}`, {
          cause,
        });
      }
      if (!answer.ok) throw new AnvilRequestError(method, answer.error);
      return answer.result as T;
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
