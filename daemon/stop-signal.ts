/**
 * One signal for everything that ends a service: SIGINT, SIGTERM, or the loss of the parent that started it with an IPC
 * channel. A second SIGINT or SIGTERM ends the process at once with exit status 130 or 143.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (name: "SIGINT" | "SIGTERM", status: number) => {
    if (controller.signal.aborted) process.exit(status);
    controller.abort(name);
  };
  process.on("SIGINT", () => stop("SIGINT", 130));
  process.on("SIGTERM", () => stop("SIGTERM", 143));
  if (process.connected) {
    process.once("disconnect", () => controller.abort("parent process gone"));
    // Listening for the parent's end must not keep a service alive that has nothing left to do.
    process.channel?.unref();
  }
  return controller.signal;
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
