import { existsSync } from "node:fs";
import { join } from "node:path";
import { createDirectory } from "#daemon/files/create-directory.ts";
import type { Logger } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { waitUntil } from "#daemon/time.ts";
import type { SidecarSettings } from "../../settings.ts";
import { readConfigFile } from "../config/config-file.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { createWriterLock } from "../config/writer-lock.ts";
import {
  identifyNode,
  formatIdentity,
  listLayoutPaths,
  type NodeIdentity,
  type NodeHost,
} from "../state/node-identity.ts";
import { formatHolder, createProcessLock, type ProcessLock } from "#daemon/files/process-lock.ts";
import { chooseStateLocation, mayWrite } from "../state/state-location.ts";
import { openUpkeepState, upkeepLockFile, type UpkeepState } from "../state/upkeep-state.ts";

export type ClaimDependencies = Readonly<{
  log: Logger;
  userStateDirectory: string;
  signal: AbortSignal;
}>;

export type ClaimedState = UpkeepState &
  Readonly<{
    /** Flushes the state and releases it to the next process. Later writes are skipped, because they are not needed. */
    release: () => void;
  }>;

/** Max time for a replaced sidecar to exit. */
const lockWithinMs = 3_000;
const lockRetryMs = 100;

/**
 * Opens one node's state for this process alone. @throws {StartupError} when it is in use or belongs to another node, or node.conf has
 * another writer.
 */
export async function claimState(settings: SidecarSettings, dependencies: ClaimDependencies): Promise<ClaimedState> {
  const { log, userStateDirectory, signal } = dependencies;
  const layout = resolveNodeLayout(settings.node);
  const { configPath } = layout;
  const directory = chooseStateLocation(settings, configPath, { userStateDirectory, isWritable: mayWrite });
  const reading = await readConfigFile(configPath, settings.upkeep.configLimitBytes);
  const found = identifyNode(settings, layout, reading.ok ? reading.document : undefined);
  await requireOnlyWriter(settings, configPath, signal);
  createStateDirectory(directory);
  using openedResources = new DisposableStack();
  const lock = openedResources.use(createProcessLock(join(directory, upkeepLockFile), found.configPath));
  await requireLock(lock, directory, signal);
  const state = openedResources.use(openUpkeepState(directory));
  identify(state, found, settings, log);
  const ownedResources = openedResources.move();
  return {
    ...state,
    release: () => {
      state.store.flush();
      // A hung store stays hung, so its file isn't even closed.
      if (state.store.failure()?.reason !== "Unresponsive")
        state.store.suspend({ reason: "InUse", message: `${directory} is released to the sidecar that takes over.` });
      lock[Symbol.dispose]();
    },
    [Symbol.dispose]: () => ownedResources.dispose(),
  };
}

function identify(state: UpkeepState, found: NodeIdentity, settings: SidecarSettings, log: Logger): void {
  const storedIdentity = state.identity.get();
  if (storedIdentity !== undefined) {
    const facts = { layouts: listLayoutPaths(settings.node), entryExists: existsSync };
    const differences = findNodeDifferences(storedIdentity, found, facts);
    if (differences.length > 0) throw rejectAnotherNode(state.directory, storedIdentity, found, differences);
    if (storedIdentity.configPath !== found.configPath || storedIdentity.host.name !== found.host.name) {
      log.info({ event: "node-moved", was: storedIdentity, is: found }, "the node was moved; its state is retained");
    }
  }
  // An operator who approved a plan made without a node.conf hasn't seen the plan for this node.conf.
  const isUnseen =
    storedIdentity !== undefined && isUnread(storedIdentity) && storedIdentity.configPath !== found.configPath;
  // Writes everything at once, so that the state never contains an adoption, or a configuration that a node has read, without a node
  // identity.
  state.atomically(() => {
    state.identity.set({
      ...found,
      dataPath: found.dataPath ?? storedIdentity?.dataPath,
      answeredChainId: storedIdentity?.answeredChainId,
    });
    // State from before 0.1.0 doesn't record its node, so nothing in it is trusted for this one.
    const { nodeHas, nodeValues, startedWith, healthy, restartInFlight, retry, dataEvidence, adopted } = state;
    const unownedStores = [nodeHas, nodeValues, startedWith, healthy, restartInFlight, retry, dataEvidence, adopted];
    if (storedIdentity === undefined) for (const fact of unownedStores) fact.set(undefined);
    if (isUnseen) adopted.set(undefined);
    if (settings.upkeep.mode === "enforce" && adopted.get() === undefined)
      adopted.set({ by: "setting", atMs: Date.now() });
  });
  const failure = state.store.failure();
  if (failure !== undefined) throw new StartupError(failure.message);
}

function rejectAnotherNode(
  directory: string,
  storedIdentity: NodeIdentity,
  found: NodeIdentity,
  differences: readonly string[],
): StartupError {
  return new StartupError(
    `the state in ${directory} belongs to another node: ${formatIdentity(storedIdentity)}; this sidecar is configured for ` +
      `${formatIdentity(found)}, of another ${differences.join(" and ")}. Set ` +
      "GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to a directory for this node only. If it is the same node, moved on purpose, remove " +
      `${directory}, start the sidecar and run gatehouse adopt`,
  );
}

function createStateDirectory(directory: string): void {
  try {
    createDirectory(directory);
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new StartupError(
      `the state directory ${directory} can't be created (${why}); set GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to a directory that this user can write to.`,
      { cause },
    );
  }
}

async function requireLock(lock: ProcessLock, directory: string, signal: AbortSignal): Promise<void> {
  const result = await waitForLock(lock.acquire, signal);
  if (result.ok) return;
  if (result.reason === "LockFailed") {
    throw new StartupError(`the state directory ${directory} can't be locked ${result.why}.`);
  }
  if (result.reason === "NotOurs") {
    throw new StartupError(`can't determine whether the state in ${directory} is in use: ${result.why}.`);
  }
  const { holder } = result;
  const user =
    holder === undefined ? "another process uses it." : `${formatHolder(holder)} uses it for ${holder.node}.`;
  throw new StartupError(
    `the state in ${directory} is in use: ${user} Stop that sidecar first. For another node, or to run alongside it with ` +
      "upkeep.mode observe, set GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to a separate directory.",
  );
}

/** A sidecar that never writes may run alongside one that does. Two writers are rejected before either acts. */
async function requireOnlyWriter({ upkeep }: SidecarSettings, configPath: string, signal: AbortSignal): Promise<void> {
  if (upkeep.mode === "observe") return;
  using lock = createWriterLock(configPath);
  const result = await waitForLock(lock.acquire, signal);
  // A missing or read-only directory is reported by a condition, because it may become available later.
  if (result.ok || result.reason === "LockFailed") return;
  throw new StartupError(`${result.message} To run read-only, set GATEHOUSE_SIDECAR_UPKEEP_MODE=observe.`);
}

async function waitForLock<Result extends Readonly<{ ok: boolean; reason?: string }>>(
  acquire: () => Result,
  signal: AbortSignal,
): Promise<Result> {
  const isFinal = (result: Result) => !("reason" in result && result.reason === "Locked");
  return await waitUntil(acquire, isFinal, { everyMs: lockRetryMs, withinMs: lockWithinMs, signal });
}

type NodeDifference = "chain" | "data path" | "node.conf" | "host";

type MoveInfo = Readonly<{
  layouts: readonly string[];
  entryExists: (path: string) => boolean;
}>;

/**
 * Finds the differences that show that a node is not the stored one. These don't count as differences: a machine's new host name, a
 * recreated pod, a node.conf that moved while its data stayed, and a path that never had a node.conf. Pure except for `entryExists`.
 */
export function findNodeDifferences(
  remembered: NodeIdentity,
  found: NodeIdentity,
  { layouts, entryExists }: MoveInfo,
): readonly NodeDifference[] {
  const differences: NodeDifference[] = [];
  const chains = [remembered.chainId, remembered.answeredChainId];
  if (!chains.includes(found.chainId)) differences.push("chain");
  const { dataPath } = remembered;
  const hasBoth = dataPath !== undefined && found.dataPath !== undefined;
  const hasOtherData = hasBoth && dataPath !== found.dataPath;
  if (hasOtherData) differences.push("data path");
  const isSameFile =
    isUnread(remembered) ||
    remembered.configPath === found.configPath ||
    remembered.namedPath === found.namedPath ||
    layouts.includes(remembered.configPath) ||
    layouts.includes(remembered.namedPath) ||
    // If node.conf is missing but its data is still in place, node.conf was moved.
    (hasBoth && !hasOtherData && !entryExists(remembered.configPath)) ||
    hasOtherData;
  if (!isSameFile) differences.push("node.conf");
  if (isDifferentHost(remembered.host, found.host)) differences.push("host");
  return differences;
}

/** Whether the identity was created without reading a node.conf, so that nothing is known about the node. */
function isUnread({ dataPath }: NodeIdentity): boolean {
  return dataPath === undefined;
}

/** Ordinal at the end of a StatefulSet pod's name. The names of a Deployment's pods end in five letters and digits. */
const ordinal = /^(.+)-(\d{1,4})$/;

function isDifferentHost(one: NodeHost, other: NodeHost): boolean {
  if (one.kind !== other.kind || one.name === other.name) return false;
  // A machine's name changes if its container is recreated or its owner renames it; a container's name never changes.
  if (one.kind !== "pod") return one.kind === "container";
  const [a, b] = [ordinal.exec(one.name), ordinal.exec(other.name)];
  return a !== null && b !== null && a[1] === b[1];
}
