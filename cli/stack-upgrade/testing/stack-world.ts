import type { StackRecord, StackTarget } from "../stack-record.ts";
import { createDockerPlatform } from "../docker/docker-platform.ts";
import { createKubernetesPlatform } from "../kubernetes/kubernetes-platform.ts";
import type { StackPlatform } from "../stack-platform.ts";
import { createKillSwitch } from "./kill-switch.ts";
import { createWorldCluster, endPod, scaleWorld } from "./world-cluster.ts";
import { createWorldEngine } from "./world-engine.ts";
import { createWorldPulumi } from "./world-pulumi.ts";
import { createWorldQueries } from "./world-queries.ts";
import {
  names,
  newImage,
  oldBlock,
  oldImage,
  prefix,
  startContainer,
  stopContainer,
  type NewVersion,
  type WorldEvent,
  type WorldParts,
  type WorldState,
} from "./world-state.ts";
import { createWorldTime } from "./world-time.ts";

/**
 * Creates a stack in memory: an engine with two containers and a volume, Pulumi with a configuration, and a node whose data shows which
 * versions have run on it. A run can be killed at each change that it makes; its containers and processes keep running.
 */
export function createStackWorld(newVersion: NewVersion, kind: StackTarget["kind"] = "docker") {
  const state = createState(kind);
  const kills = createKillSwitch();
  const time = createWorldTime();
  const met = new Map<WorldEvent, () => void>();
  const meet = (event: WorldEvent) => {
    const effect = met.get(event);
    met.delete(event);
    effect?.();
  };
  const parts: WorldParts = { state, newVersion, kind, kills, time, meet };
  // A command can be killed while it waits too.
  const pause = (ms: number) => kills.change(() => time.advance(ms));
  const engine = createWorldEngine(parts);
  const createPlatform = (target: StackTarget = targets[kind]): StackPlatform =>
    target.kind === "docker"
      ? createDockerPlatform(prefix, target, engine)
      : createKubernetesPlatform(prefix, target, createWorldCluster(parts), { clock: time.clock, pause });
  return {
    record: { ...startedRecord, target: targets[kind] },
    createPlatform,
    state,
    kills,
    time,
    /** Runs `effect` the next time that this event is halfway through. */
    during: (event: WorldEvent, effect: () => void) => void met.set(event, effect),
    startNode: () =>
      kind === "docker"
        ? startContainer(parts, names.node, state.containers.get(names.node)?.image ?? "")
        : scaleWorld(parts, 1),
    stopNode: () => {
      if (kind === "docker") return stopContainer(state, names.node);
      scaleWorld(parts, 0);
      endPod(parts);
    },
    image: () => state.containers.get(names.node)?.image,
    areRunning: () => [...state.containers.values()].every(({ running }) => running),
    /** Kills every update halfway, so that it leaves its lock. */
    crashUpdates: () => {
      for (const task of state.processes.values()) task.end();
    },
    steps: (signal: AbortSignal) => ({
      platform: createPlatform(),
      pulumi: createWorldPulumi(parts),
      queries: createWorldQueries(parts),
      say: () => {},
      clock: time.clock,
      pause,
      signal,
      proof: { everyMs: 1, steadyMs: 0 },
      rollbackLimits: startedRecord.limits,
    }),
  };
}

/** Creates a state in which only a node of the old version runs. */
function createState(kind: StackTarget["kind"]): WorldState {
  return {
    containers: new Map([
      [names.node, { image: oldImage, running: true, starts: 1 }],
      [names.sidecar, { image: "gatehouse:1", running: true, starts: 1 }],
    ]),
    live: [oldBlock],
    copy: undefined,
    marks: new Set(),
    jobs: new Map(),
    config: { "gatehouse:nodeImage": oldImage, "gatehouse:target": kind, "gatehouse:namespace": "pay" },
    backend: "file:///srv/state",
    pulumiKnows: oldImage,
    isPulumiInstalled: true,
    keepsSidecar: false,
    lockedBy: undefined,
    processes: new Map(),
    nextPid: 100,
    checkCount: 0,
    copyMs: 100,
    updateMs: 200,
    quietMs: 0,
    cluster: {
      replicas: 1,
      template: oldImage,
      generation: 1,
      isOwned: false,
      pod: { uid: "pod 1", image: oldImage, held: false, deleting: false, ended: undefined },
      pods: 1,
      isStubborn: false,
      isFlushed: false,
      snapshot: undefined,
      hasCopyClaim: false,
      servesSnapshots: true,
      forbidden: [],
    },
    isRemoveBroken: false,
    nodeStartedMs: 0,
    begun: [],
  };
}

export type StackWorld = ReturnType<typeof createStackWorld>;

const targets: Readonly<Record<StackTarget["kind"], StackTarget>> = {
  docker: {
    kind: "docker",
    engine: "unix:///run/docker.sock",
    statusUrl: "http://127.0.0.1:9600",
    rpcUrl: "http://127.0.0.1:8545",
  },
  kubernetes: { kind: "kubernetes", context: "production", namespace: "pay" },
};

const startedRecord: StackRecord = {
  id: "2027-01-05",
  stack: "prod",
  directory: "/srv/gatehouse",
  configFile: "/srv/gatehouse/Pulumi.prod.yaml",
  backend: "file:///srv/state",
  project: "gatehouse",
  prefix,
  target: targets.docker,
  toolImage: "sha256:gatehouse",
  from: { image: oldImage, version: "0.16.2" },
  to: { image: newImage, version: "0.17.0" },
  before: {
    height: 101,
    block: { number: 37, hash: "hash of 37" },
    tellsVersion: true,
    autoPrune: false,
    metrics: false,
  },
  limits: { copyMs: 1_000, updateMs: 1_000, proveMs: 5 },
  beganMs: 0,
  stage: "stopping",
  stageSinceMs: 0,
  attempts: 0,
  interruptions: 0,
};
