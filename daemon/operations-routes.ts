import type { Registry } from "prom-client";
import type { App } from "./http-app.ts";
import type { Readiness } from "./readiness.ts";

/** Where operators' tools ask. */
export const operationsPaths = ["/livez", "/readyz", "/metrics"] as const;

/**
 * Adds what an operator's tools ask every service: `/livez` (the process runs), `/readyz` (it is fit for traffic; 503 with the
 * reason when not) and `/metrics` (Prometheus text).
 */
export function operationsRoutes(
  app: App,
  { metrics, readiness }: Readonly<{ metrics: Registry; readiness: () => Readiness }>,
): void {
  app.get("/livez", (c) => c.json({ status: "ok" }));
  app.get("/readyz", (c) => {
    const state = readiness();
    return c.json({ status: state.ready ? "ok" : "unready", checks: state.checks }, state.ready ? 200 : 503);
  });
  app.get("/metrics", async (c) => c.body(await metrics.metrics(), 200, { "Content-Type": metrics.contentType }));
}
