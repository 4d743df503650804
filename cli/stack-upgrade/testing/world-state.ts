import type { StackTarget } from "../stack-record.ts";
import type { KillSwitch } from "./kill-switch.ts";
import type { WorldTask, WorldTime } from "./world-time.ts";

/** Behaviour of a new version once it runs. */
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
/** Data written by two programs at once, or left by a killed node. */
export const torn = "torn";
export const prefix = "gatehouse-prod";
export const names = { node: `${prefix}-node`, sidecar: `${prefix}-sidecar` };

type Container = Readonly<{ image: string; running: boolean; starts: number }>;

/** Background work that a test can interrupt halfway. */
export type WorldEvent = "copy" | "restore" | "update" | "look";

/** The node's pod; `held`: kept by a finalizer. */
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
  /** Whether the upgrade owns the replica count, so that Pulumi may not set it. */
  isOwned: boolean;
  pod: WorldPod | undefined;
  pods: number;
  /** Whether the node outlives its grace period. */
  isStubborn: boolean;
  /** Whether everything that the node wrote is on disk, and so in a snapshot. */
  isFlushed: boolean;
  snapshot: Readonly<{ object: object; task: WorldTask }> | undefined;
  /** Whether a claim was restored from the snapshot. */
  hasCopyClaim: boolean;
  /** Possible obstacles to snapshots. */
  servesSnapshots: boolean;
  forbidden: readonly string[];
};

/** State of everything but the command. */
export type WorldState = {
  containers: Map<string, Container>;
  /** Blocks in the node's data, and in the copy. */
  live: readonly string[];
  copy: readonly string[] | undefined;
  /** Marks in the copy's directory. */
  marks: Set<"half" | "copied" | "restored">;
  jobs: Map<string, Readonly<{ owner: string; task: WorldTask; action?: string }>>;
  config: Record<string, string | undefined>;
  /** Backend that Pulumi is logged in to. */
  backend: string;
  /** Image of the node in Pulumi's state. */
  pulumiKnows: string | undefined;
  isPulumiThere: boolean;
  /** Whether an update leaves the sidecar unchanged and waits until it is healthy. */
  keepsSidecar: boolean;
  /** Process that holds Pulumi's lock; a killed process keeps it. */
  lockedBy: number | undefined;
  /** Each `pulumi up`, by its process id. */
  processes: Map<number, WorldTask>;
  /** Id of the next process. */
  nextPid: number;
  /** Number of checks so far; the chain advances with each. */
  looks: number;
  /** Durations of a copy, an update, and a node's silence after its start. */
  copyMs: number;
  updateMs: number;
  quietMs: number;
  /** State of the cluster; unused on Docker. */
  cluster: ClusterState;
  /** Whether the copy can't be removed. */
  isRemoveBroken: boolean;
  nodeStartedMs: number;
  /** Started containers and jobs, in order. */
  begun: string[];
};

/** Objects shared by the parts of a world. */
export type WorldParts = Readonly<{
  state: WorldState;
  newVersion: NewVersion;
  /** Kind of the stack's platform. */
  kind: StackTarget["kind"];
  kills: KillSwitch;
  time: WorldTime;
  /** Signals that an event is halfway through. */
  meet: (event: WorldEvent) => void;
}>;

/** Time in ms between two checks of a command's progress. */
export const tickMs = 25;

/** Starts a container; replaces one with another image. */
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

/** Stops a container within its grace period. */
export function stopContainer(state: WorldState, name: string): void {
  const found = state.containers.get(name);
  if (found !== undefined) state.containers.set(name, { ...found, running: false });
}
