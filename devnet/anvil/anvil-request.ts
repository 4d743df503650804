import { Agent } from "node:http";
import { readText } from "#daemon/bytes.ts";
import { sendRequest } from "#daemon/http/request.ts";

/** The chain's answer can't be had: the connection broke or the chain is too slow. */
export class AnvilUnreachableError extends Error {
  override readonly name = "AnvilUnreachableError";
  readonly code = "anvil_unreachable";
}

/** The chain answered with a JSON-RPC error. */
export class AnvilRequestError extends Error {
  override readonly name = "AnvilRequestError";
  /** JSON-RPC error code. */
  readonly code: number;
  /** What came with the error, e.g. the bytes of a revert. */
  readonly data: unknown;

  constructor(method: string, error: Readonly<{ code: number; message: string; data?: unknown }>) {
    super(error.message, { cause: method });
    this.code = error.code;
    this.data = error.data;
  }
}

/** How the chain is called. */
export type AnvilClientOptions = Readonly<{
  url: string;
  /** How long an answer may take. */
  requestTimeoutMs: number;
  /** Largest answer that is read; a dump of the chain holds all of it. */
  answerBytesMax: number;
  connectionsMax: number;
}>;

/** Calls to the chain over connections that are kept open. */
export type AnvilClient = Disposable &
  Readonly<{
    /**
     * @throws {AnvilRequestError} when the chain answers with an error.
     * @throws {AnvilUnreachableError} when there is no answer.
     */
    request<T>(method: string, params?: readonly unknown[]): Promise<T>;
  }>;

type Answer = { result?: unknown; error?: { code: number; message: string; data?: unknown } };

/** Creates a client; it connects with the first call. Disposing of it closes the connections. */
export function createAnvilClient(options: AnvilClientOptions): AnvilClient {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connectionsMax, scheduling: "fifo" });
  let id = 0;
  const call = async <T>(method: string, params: readonly unknown[] = []): Promise<T> => {
    id += 1;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const answer = await post(body, method, agent, options);
    if (answer.error !== undefined) throw new AnvilRequestError(method, answer.error);
    return answer.result as T;
  };
  return { request: call, [Symbol.dispose]: () => agent.destroy() };
}

async function post(body: string, method: string, agent: Agent, options: AnvilClientOptions): Promise<Answer> {
  try {
    const headers = { "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(options.requestTimeoutMs);
    const response = await sendRequest({ url: options.url, method: "POST", agent, headers, body, signal });
    return JSON.parse(await readText(response, options.answerBytesMax)) as Answer;
  } catch (cause) {
    throw new AnvilUnreachableError(`no answer from the chain to ${method}: ${(cause as Error).message}`, { cause });
  }
}
