import { listOperatedServices } from "../stack-services.ts";
import type { EngineClient } from "../preflight/engine-client.ts";
import { buildReadyCheck, describeReasons, type UnreadyService } from "../unready-service.ts";
import { runInContainer } from "./engine-exec.ts";

/**
 * Lists the services in a stack that are not ready, with reasons, by running the images' own health check in their containers. Services
 * that can't be queried are omitted: the deployment has already checked their liveness.
 */
export async function listUnreadyServices(engine: EngineClient, prefix: string): Promise<readonly UnreadyService[]> {
  const found = await Promise.all(
    listOperatedServices().map(async ({ name, port }) => {
      const container = `${prefix}-${name}`;
      const command = buildReadyCheck(port);
      const said = await runInContainer(engine, container, command).catch(() => undefined);
      const reason = describeReasons(said ?? "");
      return reason === "" ? [] : [{ service: name, reason, check: `docker exec ${container} ${command.join(" ")}` }];
    }),
  );
  return found.flat();
}
