import { until } from "#daemon/testing/until.ts";
import { EngineApiError, type EngineApi } from "./engine-api.ts";

const deadlineMs = 60_000;

/**
 * Removes a container with its anonymous volumes, in whatever state it is. The engine removes a running one by killing it first, and
 * answers 500 when the process ends, or is started again, between its look and its signal, which one that ends again and again does
 * all the time. So its restarts are ended before it is stopped, and it is removed when it stands still.
 *
 * @throws {Error} when it is still there at the deadline, with the engine's last words.
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
