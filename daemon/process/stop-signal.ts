import { endProcess } from "./end-process.ts";

/** Signals that stop a service, and the exit status if received twice (128 plus the signal's number). */
export const stopStatuses = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Creates one signal for every reason to stop a service: SIGINT, SIGTERM, SIGHUP (a closed terminal), or the exit of a parent that started
 * it with an IPC channel. A second of these signals exits the process at once, with status 129, 130 or 143.
 */
export function createStopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const [name, status] of Object.entries(stopStatuses)) {
    process.on(name, () => {
      if (controller.signal.aborted) void endProcess(status);
      else controller.abort(name);
    });
  }
  if (process.connected) {
    process.once("disconnect", () => controller.abort("parent process exited"));
    // Listening for the parent's exit must not keep an otherwise finished service alive.
    process.channel?.unref();
  }
  return controller.signal;
}

export async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
