import { Gauge, type Registry } from "prom-client";
import { verdictLevels, type Verdict } from "./verdict.ts";

/** Adds `gatehouse_verdict{level}`: 1 for the current level, 0 for the others; computed at each scrape. */
export function showVerdict(registry: Registry, verdict: () => Verdict): void {
  const gauge = new Gauge({
    name: "gatehouse_verdict",
    help: "Overall state of the node, as on the status page: 1 for the active level.",
    labelNames: ["level"],
    registers: [],
    collect() {
      const { level: current } = verdict();
      for (const level of verdictLevels) this.set({ level }, Number(level === current));
    },
  });
  registry.registerMetric(gauge);
}
