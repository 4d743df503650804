import { until } from "#daemon/testing/until.ts";
import { EngineApiError, type EngineApi } from "./engine-api.ts";

const deadlineMs = 60_000;

/**
 * Removes a container with its anonymous volumes, in whatever state it is. The engine removes a running container by
 * killing it first, and returns 500 if the process exits, or is restarted, between its check and its signal, which
 * happens all the time with a crash-looping one. So its restarts are disabled before it is stopped, and it is removed
 * once it has stopped.
 *
 * @throws {Error} with the engine's last message if it still exists at the deadline.
 */
export async function removeContainer(api: EngineApi, id: string): Promise<void> {
  await until(`container ${id} is removed`, deadlineMs, async () => {
    try {
      await api.call("POST", `/containers/${id}/update`, { RestartPolicy: { Name: "no" } });
      await api.call("POST", `/containers/${id}/stop?t=0`);
      await api.call("DELETE", `/containers/${id}?force=true&v=true`);
      return true;
    } catch (error) {
      if (error instanceof EngineApiError && error.status === 404) return true;
      throw error;
    }
  });
}
