import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { systemClock } from "#daemon/clock.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { watchCalls } from "#gateway/calls-watch.ts";
import { watchDescriptors } from "#health/descriptor-watch.ts";
import { watchDisk } from "#health/disk-watch.ts";
import { createHealthMetrics } from "#health/health-metrics.ts";
import { watchHealth } from "#health/health-watch.ts";
import { unknownHealth, type NodeInfo } from "#health/rpc-state.ts";
import { createObservation } from "#health/observation.ts";
import { watchReferences } from "#health/reference-watch.ts";
import { watchWebSocket } from "#health/web-socket-watch.ts";
import { watchReleases } from "#sidecar/releases/release-watch.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { watchPushes } from "#sidecar/upkeep/pushgateway/push-watch.ts";
import { observeNode } from "#sidecar/upkeep/version/node-observer.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport, ConditionType } from "#status/condition.ts";

const fail = (): never => {
  throw new TypeError("an unexpected failure");
};

/** Creates the dependencies of a watch. */
function createMeans() {
  const stopController = new AbortController();
  const log = pino({ level: "silent" });
  const metrics = new Registry();
  const events = { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] };
  const common = { log, metrics, clock: systemClock, events };
  const board = createConditionBoard(common);
  return { ...common, board, facts: createObservation<NodeInfo>({}), signal: stopController.signal, stopController };
}

type Means = ReturnType<typeof createMeans>;

/** Starts a watch, and returns a function that waits for its end. */
type Begin = (means: Means) => Promise<() => PromiseLike<unknown>>;

const ends = (done: Promise<unknown>) => Promise.resolve(() => done);
const endsBy = (watch: AsyncDisposable) => Promise.resolve(() => watch[Symbol.asyncDispose]());

const health = () => unknownHealth;
const intervalMs = 20;
const timeoutMs = 1_000;

/** Each watch, with one of its dependencies failing in an unexpected way. */
const watches: Readonly<Record<string, Begin>> = {
  RpcResponding: ({ facts, ...means }) =>
    ends(
      watchHealth(
        {
          url: "http://127.0.0.1:1",
          chainId: 1672,
          intervalMs,
          timeoutMs,
          staleAfterMs: 1_000,
          hasReferences: false,
          rejectionMeansEnd: false,
          signal: means.signal,
        },
        {
          ...means,
          rpc: fail,
          metrics: createHealthMetrics(means.metrics),
          heights: { add: () => undefined } as never,
          facts,
          eventLoop: { lateMs: () => 0, recentMs: () => 0, [Symbol.dispose]: () => undefined },
        },
      ).done,
    ),
  NodeSynced: (means) =>
    ends(
      watchReferences(
        { references: ["http://127.0.0.1:1"], intervalMs, timeoutMs, maxBlocks: 5, signal: means.signal },
        { ...means, send: fail, health: fail, check: fail, compared: () => undefined },
      ),
    ),
  WebSocketResponding: (means) =>
    ends(
      watchWebSocket(
        { url: "ws://127.0.0.1:1/#fragments-are-rejected", intervalMs, timeoutMs, signal: means.signal },
        means,
      ),
    ),
  CallsSucceeding: (means) => ends(watchCalls({ ...means, traffic: fail, isServing: () => true })),
  ConnectionsAvailable: (means) =>
    endsBy(watchDescriptors(fail, { ...means, setting: { connections: "a", connectionsPerAddress: "b" } })),
  DiskSpaceSufficient: (means) =>
    ends(
      watchDisk(
        {
          freeRatio: 0,
          fullWithinSeconds: 0,
          forecastAfterSeconds: 1,
          fileTimeoutMs: timeoutMs,
          intervalMs,
          signal: means.signal,
        },
        { ...means, dataPath: fail, onCheck: () => undefined, history: { get: () => undefined, set: () => undefined } },
      ),
    ),
  VersionSupported: async (means) => {
    const directory = await makeTestDirectory();
    const releasesPath = join(directory, "releases.json5");
    await writeFile(releasesPath, '[{ version: "0.17.0", minVersionAt: 5 }]');
    const node = { httpUrl: "http://127.0.0.1:1" };
    const settings = { upgrade: { releasesPath, warnBeforeSeconds: 1 }, node, health: { intervalMs } };
    return endsBy(
      await watchReleases(settings as Parameters<typeof watchReleases>[0], {
        ...means,
        program: fail,
        places: fail,
        stateDirectory: directory,
        health: { current: () => ({}) },
        files: createActiveFiles(means.metrics),
      }),
    );
  },
  Pruning: (means) =>
    ends(
      observeNode(
        { intervalMs, signal: means.signal },
        {
          ...means,
          health,
          commits: () => ({}),
          nodeCli: { version: fail, pruneInfo: fail, enableAutoPrune: fail, enableCommand: () => "" },
          onTool: (report) => report && means.board.set(report),
          onChange: () => undefined,
        },
      ).done,
    ),
  MetricsArriving: (means) =>
    ends(
      watchPushes(
        { url: "http://127.0.0.1:1", timeoutMs, responseLimitBytes: 1_000, staleAfterMs: 1_000, signal: means.signal },
        { ...means, send: sendRequest, identity: fail },
      ).done,
    ),
};

/** Last reason of each condition before its check failed. */
const right: Readonly<Record<string, ConditionReport["reason"]>> = {
  RpcResponding: "Responding",
  NodeSynced: "Synced",
  WebSocketResponding: "Responding",
  CallsSucceeding: "Succeeding",
  ConnectionsAvailable: "Available",
  DiskSpaceSufficient: "Sufficient",
  VersionSupported: "Supported",
  Pruning: "Enabled",
  MetricsArriving: "Fresh",
};

test.each(Object.entries(watches))(
  "reports %s as unknown after its check fails with an unexpected error",
  async (name, begin) => {
    const means = createMeans();
    const type = name as ConditionType;
    means.board.set({ type, status: "True", reason: right[name], message: "It is right." } as ConditionReport);
    const end = await begin(means);
    const found = await readUntil(
      () => means.board.get(type),
      (condition) => condition?.status !== "True",
    ).finally(async () => {
      means.stopController.abort();
      await end();
    });
    expect(found).toMatchObject({ status: "Unknown" });
    expect(found?.message).toMatch(/an unexpected failure|fragment/);
  },
);
