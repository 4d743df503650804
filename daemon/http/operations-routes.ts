import { Gauge, type Registry } from "prom-client";
import type { App } from "./app.ts";
import type { Readiness } from "./readiness.ts";

/**
 * Adds what an operator's tools ask every service: `/livez` (the process runs), `/readyz` (it is fit for traffic; 503 with the
 * reason when not; `degraded` with 200 and the reason where something that it can do without for a while fails) and `/metrics` (Prometheus text).
 */
export function operationsRoutes(
  app: App,
  { metrics, readiness }: Readonly<{ metrics: Registry; readiness: () => Readiness }>,
): void {
  const checks: Gauge<"check"> = new Gauge({
    name: "gatehouse_ready_check",
    help: "What /readyz looks at: 1 where it is right, 0 where it is not.",
    labelNames: ["check"],
    registers: [metrics],
    collect() {
      checks.reset();
      for (const [check, { ok }] of Object.entries(readiness().checks)) checks.set({ check }, ok ? 1 : 0);
    },
  });
  app.get("/livez", (c) => c.json({ status: "ok" }));
  app.get("/readyz", (c) => {
    const state = readiness();
    if (!state.ready) return c.json({ status: "unready", checks: state.checks }, 503);
    const isWhole = Object.values(state.checks).every(({ ok }) => ok);
    return c.json({ status: isWhole ? "ok" : "degraded", checks: state.checks });
  });
  app.get("/metrics", async (c) => c.body(await metrics.metrics(), 200, { "Content-Type": metrics.contentType }));
}
