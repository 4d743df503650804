import { cutText } from "#daemon/secrets/cut-text.ts";
import type { Agent } from "undici";
import { readBodyStart } from "#daemon/bytes.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { DriverError } from "./driver.ts";
import { createRunningTimeout } from "#daemon/time.ts";

/** Address of the Docker Engine API, and the time limit of a request. */
export type DockerEngineOptions = Readonly<{
  /** `unix:///path` or `http://host:port`. */
  engine: string;
  timeoutMs: number;
}>;

/** One request. Its path has no version of the API: newer engines refuse what is old, older ones what is new, and these calls are the same in all. */
type EngineRequest = Readonly<{
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  signal: AbortSignal;
  responseLimitBytes?: number;
}>;

/** Answer of the engine; `isTruncated`: the body was cut off at the request's limit. */
export type EngineResponse = Readonly<{ status: number; body: Uint8Array; isTruncated: boolean }>;

/** The Docker Engine API of one engine. */
export type DockerEngine = AsyncDisposable & Readonly<{ request: (request: EngineRequest) => Promise<EngineResponse> }>;

const defaultResponseLimitBytes = 1_048_576;

/** No whole answer within the engine's time limit. */
export class EngineTimeout extends DriverError {
  override readonly name = "EngineTimeout";
}

/**
 * Connects to an engine at the first request. A request throws {@link EngineTimeout} when its answer takes longer than `timeoutMs`,
 * {@link DriverError} when the engine can't be reached.
 */
export function createDockerEngine({ engine, timeoutMs }: DockerEngineOptions): DockerEngine {
  const socketPath = engine.startsWith("unix://") ? engine.slice("unix://".length) : undefined;
  const origin = socketPath === undefined ? engine.replace(/\/$/, "") : "http://docker";
  // One deadline covers the whole answer; a tool that prints nothing for a while is no reason to end it earlier.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const options = { ...timeouts, connect: socketPath === undefined ? { lookup: lookupName } : { socketPath } };
  let agent: Promise<Agent> | undefined;
  return {
    request: async ({ method, path, body, signal, responseLimitBytes = defaultResponseLimitBytes }) => {
      const deadline = createRunningTimeout(timeoutMs);
      try {
        agent ??= createAgent(options);
        const response = await (
          await agent
        ).request({
          origin,
          method,
          path,
          headers: body === undefined ? {} : { "content-type": "application/json" },
          body: body === undefined ? null : JSON.stringify(body),
          signal: AbortSignal.any([signal, deadline]),
        });
        const { bytes, isTruncated } = await readBodyStart(response.body, responseLimitBytes);
        return { status: response.statusCode, body: bytes, isTruncated };
      } catch (cause) {
        if (deadline.aborted && !signal.aborted) {
          throw new EngineTimeout(`the Docker engine at ${engine} did not answer within ${timeoutMs} ms.`, { cause });
        }
        const code = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
        throw new DriverError(`the Docker engine at ${engine} can't be queried (${code}); set docker.engine.`, {
          cause,
        });
      }
    },
    [Symbol.asyncDispose]: async () => (await agent)?.close(),
  };
}

/** Loads the client when it is first needed: it takes 6 MiB, which a sidecar that never calls an engine has no use for. */
async function createAgent(options: Agent.Options): Promise<Agent> {
  const { Agent } = await import("undici");
  return new Agent(options);
}

/** Reads the status and the message of an engine's error answer. */
export function readEngineMessage({ status, body }: EngineResponse): string {
  const text = new TextDecoder().decode(body);
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return `${status}: ${String(message)}`;
  } catch {
    // Not the engine's JSON (a proxy, perhaps): its text says what is wrong.
    return `${status}: ${cutText(text, 200)}`;
  }
}
