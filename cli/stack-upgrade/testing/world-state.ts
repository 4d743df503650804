import type { StackTarget } from "../stack-target.ts";
import type { KillSwitch } from "./kill-switch.ts";
import type { WorldTask, WorldTime } from "./world-time.ts";

/** What a new version does as soon as it runs. */
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
/** What is left of data that two have written to at once, or that a killed node has left. */
export const torn = "torn";
export const prefix = "gatehouse-prod";
export const names = { node: `${prefix}-node`, sidecar: `${prefix}-sidecar` };

type Container = Readonly<{ image: string; running: boolean; starts: number }>;

/** A `pulumi up`: without a task, it was not let go yet. */
export type WorldProcess = Readonly<{ task: WorldTask | undefined }>;

/** What goes on by itself, and can be met in its middle. */
export type WorldEvent = "copy" | "restore" | "update" | "look";

/** The node's pod; `held`: by a finalizer. */
export type WorldPod = Readonly<{
  uid: string;
  image: string;
  held: boolean;
  deleting: boolean;
  ended: "by itself" | "killed" | undefined;
}>;

/** What a cluster has of a stack. */
export type ClusterState = {
  replicas: number;
  /** The image of the StatefulSet's template. */
  template: string;
  generation: number;
  /** Whether the upgrade owns the number of replicas, so that Pulumi may not set it. */
  isOwned: boolean;
  pod: WorldPod | undefined;
  pods: number;
  /** Whether the node outlives its grace. */
  isStubborn: boolean;
  /** Whether all that the node wrote is on the disk, of which a snapshot is taken. */
  isFlushed: boolean;
  snapshot: Readonly<{ object: object; task: WorldTask }> | undefined;
  /** Whether a claim was made of the snapshot. */
  hasCopyClaim: boolean;
  /** What speaks against snapshots. */
  servesSnapshots: boolean;
  classes: readonly Readonly<{ name: string; driver: string; isDefault: boolean }>[];
  forbidden: readonly string[];
};

/** What there is, apart from the command. */
export type WorldState = {
  containers: Map<string, Container>;
  /** The blocks of the node's data, and of the copy. */
  live: readonly string[];
  copy: readonly string[] | undefined;
  /** What the directory of the copy says of it. */
  marks: Set<"half" | "copied" | "restored">;
  jobs: Map<string, Readonly<{ owner: string; task: WorldTask; action?: string }>>;
  config: Record<string, string | undefined>;
  /** Where Pulumi is logged in to. */
  backend: string;
  /** The image of the node that Pulumi believes to run. */
  pulumiKnows: string | undefined;
  isPulumiThere: boolean;
  /** What updates were making when they were killed, and what one makes now. */
  pendingCreations: readonly string[];
  /** The process that has Pulumi's lock: one that was killed keeps it. */
  lockedBy: number | undefined;
  processes: Map<number, WorldProcess>;
  /** The number of the next process. */
  nextPid: number;
  /** The chain goes on from look to look. */
  looks: number;
  /** How long a copy and an update take, and how long a node is silent after its start. */
  copyMs: number;
  updateMs: number;
  quietMs: number;
  /** What a cluster has besides; on Docker nobody looks at it. */
  cluster: ClusterState;
  /** Whether the copy can't be removed. */
  isRemoveBroken: boolean;
  nodeStartedMs: number;
  /** What was begun, in order: containers and jobs. */
  begun: string[];
};

/** What the parts of a world share. */
export type WorldParts = Readonly<{
  state: WorldState;
  newVersion: NewVersion;
  /** Where the stack runs. */
  kind: StackTarget["kind"];
  kills: KillSwitch;
  time: WorldTime;
  /** Notes that something is half done. */
  meet: (event: WorldEvent) => void;
}>;

/** How long a command waits between two looks at what it has begun. */
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
