import { z } from "zod";
import { readEngineMessage } from "#daemon/http/docker-engine.ts";
import type { DockerEngine } from "./docker-engine.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** The node's container, and its stop timeout. */
export type DockerDriverOptions = Readonly<{ container: string; stopTimeoutSeconds: number }>;

const inspection = z.object({ State: z.object({ Running: z.boolean(), StartedAt: z.string() }) });

/** Restarts the node's container through the Docker Engine API. */
export function createDockerDriver(options: DockerDriverOptions, engine: DockerEngine): NodeDriver {
  const container = `/containers/${encodeURIComponent(options.container)}`;
  return {
    name: "docker",
    restart: async (signal) => {
      const path = `${container}/restart?t=${options.stopTimeoutSeconds}`;
      const response = await engine.request({ method: "POST", path, signal });
      if (response.status === 204) return {};
      throw new DriverError(`container ${options.container} could not be restarted: ${readEngineMessage(response)}`);
    },
    startedAt: async (signal) => {
      const response = await engine.request({ method: "GET", path: `${container}/json`, signal });
      if (response.status !== 200) {
        throw new DriverError(`container ${options.container} can't be inspected: ${readEngineMessage(response)}`);
      }
      const parsed = inspection.safeParse(JSON.parse(new TextDecoder().decode(response.body)));
      if (!parsed.success) return "unknown";
      return parsed.data.State.Running ? Date.parse(parsed.data.State.StartedAt) : "not-running";
    },
  };
}
