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

export type ClusterState = {
  replicas: number;
  template: string;
  generation: number;
  /** Whether the upgrade owns the replica count, so that Pulumi may not set it. */
  isOwned: boolean;
  pod: WorldPod | undefined;
  pods: number;
  isStubborn: boolean;
  /** Whether everything that the node wrote is on disk, and so in a snapshot. */
  isFlushed: boolean;
  snapshot: Readonly<{ object: object; task: WorldTask }> | undefined;
  hasCopyClaim: boolean;
  servesSnapshots: boolean;
  forbidden: readonly string[];
};

/** State of everything but the command. */
export type WorldState = {
  containers: Map<string, Container>;
  live: readonly string[];
  copy: readonly string[] | undefined;
  marks: Set<"half" | "copied" | "restored">;
  jobs: Map<string, Readonly<{ owner: string; task: WorldTask; action?: string }>>;
  config: Record<string, string | undefined>;
  backend: string;
  pulumiKnows: string | undefined;
  isPulumiInstalled: boolean;
  /** Whether an update leaves the sidecar unchanged and waits until it is healthy. */
  keepsSidecar: boolean;
  /** Process that holds Pulumi's lock; a killed process keeps it. */
  lockedBy: number | undefined;
  /** Each `pulumi up`, by its process id. */
  processes: Map<number, WorldTask>;
  nextPid: number;
  /** Number of checks so far; the chain advances with each. */
  checkCount: number;
  /** Durations of a copy, an update, and a node's silence after its start. */
  copyMs: number;
  updateMs: number;
  quietMs: number;
  /** State of the cluster; unused on Docker. */
  cluster: ClusterState;
  isRemoveBroken: boolean;
  nodeStartedMs: number;
  /** Started containers and jobs, in order. */
  begun: string[];
};

export type WorldParts = Readonly<{
  state: WorldState;
  newVersion: NewVersion;
  kind: StackTarget["kind"];
  kills: KillSwitch;
  time: WorldTime;
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

export function stopContainer(state: WorldState, name: string): void {
  const found = state.containers.get(name);
  if (found !== undefined) state.containers.set(name, { ...found, running: false });
}
