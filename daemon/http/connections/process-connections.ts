import { performance } from "node:perf_hooks";
import type { Registry } from "prom-client";
import { createConnectionBudget, type ConnectionBudget } from "./connection-budget.ts";
import { ownDescriptors } from "./descriptors.ts";
import type { ConnectionSettings } from "./settings.ts";

/** The connections that this process's listeners may hold, by the file descriptors that it may have open. */
export function processConnections(
  settings: ConnectionSettings,
  { metrics }: Readonly<{ metrics: Registry }>,
): ConnectionBudget {
  return createConnectionBudget(settings, {
    descriptors: ownDescriptors(),
    metrics,
    // That of the gateway's fast path, whose connections tell their own times.
    clock: () => performance.now(),
  });
}
