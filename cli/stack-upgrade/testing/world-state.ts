import type { StackTarget } from "../stack-target.ts";
import type { KillSwitch } from "./kill-switch.ts";
import type { WorldTask, WorldTime } from "./world-time.ts";

/** Behaviour of a new version as soon as it runs. */
export type NewVersion =
  | "good"
  | "silent"
  | "another version"
  | "loses a block"
  | "does not start"
  | "reports no version";

export const oldImage = "node:0.16.2";
export const newImage = "node:0.17.0";
export const oldBlock = "block 1 by 0.16.2";
/** Data that two programs have written to at once, or that a killed node has left. */
export const torn = "torn";
export const prefix = "gatehouse-prod";
export const names = { node: `${prefix}-node`, sidecar: `${prefix}-sidecar` };

type Container = Readonly<{ image: string; running: boolean; starts: number }>;

/** A `pulumi up`; without a task, it was not let go yet. */
export type WorldProcess = Readonly<{ task: WorldTask | undefined }>;

/** Work that runs by itself, in the middle of which a test can act. */
export type WorldEvent = "copy" | "restore" | "update" | "look";

/** The node's pod; `held`: by a finalizer. */
export type WorldPod = Readonly<{
  uid: string;
  image: string;
  held: boolean;
  deleting: boolean;
  ended: "by itself" | "killed" | undefined;
}>;

/** State of a stack in a cluster. */
export type ClusterState = {
  replicas: number;
  /** Image in the StatefulSet's template. */
  template: string;
  generation: number;
  /** Whether the upgrade owns the number of replicas, so that Pulumi may not set it. */
  isOwned: boolean;
  pod: WorldPod | undefined;
  pods: number;
  /** Whether the node outlives its grace. */
  isStubborn: boolean;
  /** Whether everything that the node wrote is on the disk, which a snapshot contains. */
  isFlushed: boolean;
  snapshot: Readonly<{ object: object; task: WorldTask }> | undefined;
  /** Whether a claim was restored from the snapshot. */
  hasCopyClaim: boolean;
  /** Possible obstacles to snapshots. */
  servesSnapshots: boolean;
  classes: readonly Readonly<{ name: string; driver: string; isDefault: boolean }>[];
  forbidden: readonly string[];
};

/** State of everything but the command. */
export type WorldState = {
  containers: Map<string, Container>;
  /** Blocks in the node's data, and in the copy. */
  live: readonly string[];
  copy: readonly string[] | undefined;
  /** Marks in the directory of the copy. */
  marks: Set<"half" | "copied" | "restored">;
  jobs: Map<string, Readonly<{ owner: string; task: WorldTask; action?: string }>>;
  config: Record<string, string | undefined>;
  /** Backend that Pulumi is logged in to. */
  backend: string;
  /** Image of the node in Pulumi's state. */
  pulumiKnows: string | undefined;
  isPulumiThere: boolean;
  /** Whether an update leaves the sidecar as it is, and waits until that is healthy. */
  keepsSidecar: boolean;
  /** Containers that updates were creating when they were killed, or that one creates now. */
  pendingCreations: readonly string[];
  /** Process that holds Pulumi's lock: a killed one keeps it. */
  lockedBy: number | undefined;
  processes: Map<number, WorldProcess>;
  /** Id of the next process. */
  nextPid: number;
  /** Number of looks so far: the chain advances with each. */
  looks: number;
  /** Durations of a copy, of an update, and of a node's silence after its start. */
  copyMs: number;
  updateMs: number;
  quietMs: number;
  /** State of the cluster; unused on Docker. */
  cluster: ClusterState;
  /** Whether the copy can't be removed. */
  isRemoveBroken: boolean;
  nodeStartedMs: number;
  /** Containers and jobs that were started, in order. */
  begun: string[];
};

/** Objects that the parts of a world share. */
export type WorldParts = Readonly<{
  state: WorldState;
  newVersion: NewVersion;
  /** Kind of the stack's platform. */
  kind: StackTarget["kind"];
  kills: KillSwitch;
  time: WorldTime;
  /** Reports that an event is half done. */
  meet: (event: WorldEvent) => void;
}>;

/** Time in ms that a command waits between two looks at its work. */
export const tickMs = 25;

/** Starts a container; one of another image takes its place. */
export function startContainer({ state, newVersion, time }: WorldParts, name: string, image: string): void {
  state.begun.push(name);
  const isNew = name === names.node && image === newImage;
  const starts = (state.containers.get(name)?.starts ?? 0) + 1;
  state.containers.set(name, { image, running: !(isNew && newVersion === "does not start"), starts });
  if (name !== names.node) return;
  state.nodeStartedMs = time.clock.monotonicMs();
  if (isNew && newVersion === "loses a block") state.live = [];
  state.live = [...state.live, `block by ${image}`];
}

/** Ends a container within its grace. */
export function stopContainer(state: WorldState, name: string): void {
  const found = state.containers.get(name);
  if (found !== undefined) state.containers.set(name, { ...found, running: false });
}
