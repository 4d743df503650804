import { createEngineClient, type EngineRequest, type EngineResponse } from "#daemon/http/docker-engine.ts";
import { createRunningTimeout } from "#daemon/time.ts";
import { DriverError } from "./driver.ts";

/** Address of the Docker Engine API, and the time limit for a request. */
export type DockerEngineOptions = Readonly<{
  /** `unix:///path` or `http://host:port`. */
  engine: string;
  timeoutMs: number;
}>;

/** Docker Engine API of one engine. */
export type DockerEngine = ReturnType<typeof createDockerEngine>;

const defaultResponseLimitBytes = 1_048_576;

/** The response was not complete within the engine's time limit. */
export class EngineTimeout extends DriverError {
  override readonly name = "EngineTimeout";
}

/**
 * Creates the client for the node's engine. A request throws {@link EngineTimeout} if the response takes longer than `timeoutMs`, and
 * {@link DriverError} if the engine can't be reached.
 */
export function createDockerEngine({ engine, timeoutMs }: DockerEngineOptions) {
  const send = createEngineClient(engine);
  return {
    request: async ({
      signal,
      responseLimitBytes = defaultResponseLimitBytes,
      ...request
    }: EngineRequest): Promise<EngineResponse> => {
      // One deadline covers the whole response, so a tool that prints nothing for a while isn't terminated earlier.
      const deadline = createRunningTimeout(timeoutMs);
      try {
        return await send({ ...request, responseLimitBytes, signal: AbortSignal.any([signal, deadline]) });
      } catch (cause) {
        if (deadline.aborted && !signal.aborted) {
          throw new EngineTimeout(`the Docker engine at ${engine} did not respond within ${timeoutMs} ms.`, { cause });
        }
        const code = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
        throw new DriverError(`the Docker engine at ${engine} can't be queried (${code}); set docker.engine.`, {
          cause,
        });
      }
    },
  };
}
