import { Registry } from "prom-client";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createCharts } from "#status/charts.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { sidecarSettings } from "../settings.ts";
import type { DataContext } from "../upkeep/corruption/watch-data.ts";
import { createObservations } from "../upkeep/observations.ts";
import type { PruneContext } from "../upkeep/prune/apply-prune.ts";
import { openUpkeepState } from "../upkeep/state/upkeep-state.ts";
import { createUpkeepMetrics } from "../upkeep/upkeep-metrics.ts";

type Context = DataContext & PruneContext;

const nothing = { get: () => undefined, set: () => undefined };

/** The context of an upkeep that may act and has observed nothing yet: the given parts, and defaults for the others that need no node. */
export function makeContext(parts: Partial<Readonly<Record<keyof Context, unknown>>> = {}): Context {
  const seen = createObservations({ directory: "/state", upgrade: nothing, dataEvidence: nothing }, () => undefined);
  return {
    ...seen,
    clock: systemClock,
    events: createRecentEvents(systemClock),
    metrics: createUpkeepMetrics(new Registry()),
    charts: createCharts(),
    command: (verb: string) => `gatehouse ${verb}`,
    log: pino({ level: "silent" }),
    authority: () => "acts",
    isRestarting: () => seen.restarts.now().running !== undefined,
    finishes: () => undefined,
    wake: () => undefined,
    signal: new AbortController().signal,
    ...parts,
  } as unknown as Context;
}

/** Settings of a sidecar for a node in `/n`. */
export function readTestSettings(env: Environment = {}) {
  const node = {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/n",
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://127.0.0.1:1",
  };
  return readSettings(sidecarSettings, { env: { ...node, ...env } });
}

/** Opens an empty state that is removed when the test has finished. */
export async function openTestState() {
  const state = openUpkeepState(await makeTestDirectory());
  onTestFinished(() => state[Symbol.dispose]());
  return state;
}
