import { Pool } from "undici";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { ChainError } from "./chain-error.ts";

/** URL of the node, time limit of each phase of a request, and max connections. */
export type HttpTransportOptions = Readonly<{ url: string; timeoutMs: number; connectionsMax: number }>;

/** Sends JSON to a node. Connections open on demand; disposal closes them and ends waiting requests. */
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

/** Creates a transport to one node. */
export function createHttpTransport({ url, timeoutMs, connectionsMax }: HttpTransportOptions): HttpTransport {
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
    throw new ChainError("bad_answer", `the node returned HTTP ${response.statusCode} instead of a JSON-RPC response`);
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
    return new ChainError("timeout", `the node did not respond in time (${code})`, { cause: error });
  }
  return new ChainError("unreachable", `the node can't be reached (${code ?? message})`, { cause: error });
}
