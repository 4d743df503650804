import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { waitUntil } from "#daemon/time.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { readConfigFile } from "../config/config-file.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { createWriterLock } from "../config/writer-lock.ts";
import {
  identifyNode,
  formatIdentity,
  listLayoutPaths,
  listPathsDirectories,
  type ConfigLocation,
  type NodeIdentity,
} from "../state/node-identity.ts";
import { compareCopies, hasActed, oldStateDirectory, copyOldState, type StateOwner } from "./old-state.ts";
import { formatHolder, createProcessLock, type ProcessLock } from "#daemon/files/process-lock.ts";
import { requireWorkspace } from "./misnamed-workspace.ts";
import { findNodeDifferences, isUnread, type NodeDifference } from "./same-node.ts";
import { chooseStateLocation, mayWrite } from "../state/state-location.ts";
import { openUpkeepState, upkeepLockFile, upkeepStateFile, type UpkeepState } from "../state/upkeep-state.ts";

export type ClaimDependencies = Readonly<{
  log: Logger;
  userStateDirectory: string;
  /** Default state directory in older versions; absolute, or relative to the working directory. */
  oldStateDirectory?: string;
  signal: AbortSignal;
}>;

/** A node's state, owned exclusively by this process. */
export type ClaimedState = UpkeepState &
  Readonly<{
    /** Flushes the state and releases it to the next process. Later writes are not made, and not needed. */
    release: () => void;
  }>;

/** Max time that a replaced sidecar needs to exit. */
const lockWithinMs = 3_000;
const lockRetryMs = 100;

/**
 * Opens one node's state exclusively, until it is disposed of or the process exits. Writes the node's identity before anything else. State
 * written by an older version has no identity; it is migrated once, if its copies of node.conf belong to this node.
 *
 * @throws {StartupError} when another sidecar uses the state or node.conf, the state belongs to another node, or the workspace is the
 * programs' directory.
 */
export async function claimState(settings: SidecarSettings, dependencies: ClaimDependencies): Promise<ClaimedState> {
  const { log, userStateDirectory, signal } = dependencies;
  requireWorkspace(settings);
  const layout = resolveNodeLayout(settings.node);
  const { configPath } = layout;
  const directory = chooseStateLocation(settings, configPath, { userStateDirectory, isWritable: mayWrite });
  const reading = await readConfigFile(configPath, settings.upkeep.configLimitBytes);
  const document = reading.ok ? reading.document : undefined;
  const found = identifyNode(settings, layout, document);
  await requireOnlyWriter(settings, configPath, signal);
  createDirectory(directory);
  using opened = new DisposableStack();
  const lock = opened.use(createProcessLock(join(directory, upkeepLockFile), found.configPath));
  await requireLock(lock, directory, signal);
  const claim = { settings, layout, document, log };
  const isNew = !existsSync(join(directory, upkeepStateFile));
  if (isNew && settings.upkeep.stateDirectory === undefined) {
    await copyOldState(resolve(dependencies.oldStateDirectory ?? oldStateDirectory), directory, describeOwner(claim), {
      log,
    });
  }
  const state = opened.use(openUpkeepState(directory));
  await identify(state, found, claim);
  const claimed = opened.move();
  return {
    ...state,
    release: () => {
      state.store.flush();
      // A hung store stays hung, so even its file isn't closed.
      if (state.store.failure()?.reason !== "Unresponsive")
        state.store.suspend({ reason: "InUse", message: `${directory} is released to the sidecar that takes over.` });
      lock[Symbol.dispose]();
    },
    [Symbol.dispose]: () => claimed.dispose(),
  };
}

type Claim = Readonly<{
  settings: SidecarSettings;
  layout: ConfigLocation;
  document: ConfigDocument | undefined;
  log: Logger;
}>;

/** Describes the node, for comparison with the copies of node.conf in a state. */
function describeOwner({ settings, layout, document }: Claim): StateOwner {
  const places = [layout.pathsDirectory, ...listPathsDirectories(settings.node)];
  return { places, document, movedFrom: settings.upkeep.movedFrom };
}

async function identify(state: UpkeepState, found: NodeIdentity, claim: Claim): Promise<void> {
  const { settings, log } = claim;
  const remembered = state.identity.get();
  const taken = remembered === undefined ? await judgeOld(state, found, claim) : "known";
  if (remembered !== undefined) {
    const layouts = listLayoutPaths(settings.node);
    const facts = { movedFrom: settings.upkeep.movedFrom, layouts, entryExists: existsSync };
    const differences = findNodeDifferences(remembered, found, facts);
    if (differences.length > 0) throw refuseAnotherNode(state.directory, remembered, found, differences);
    if (remembered.configPath !== found.configPath || remembered.host.name !== found.host.name) {
      log.info({ event: "node-moved", was: remembered, is: found }, "the node was moved; its state is retained");
    }
  }
  // An operator who approved a plan made without a node.conf hasn't seen the plan for this node.conf.
  const isUnseen = remembered !== undefined && isUnread(remembered) && remembered.configPath !== found.configPath;
  const isMovedChain = settings.upkeep.movedFrom.includes(String(remembered?.chainId));
  const answeredChainId = isMovedChain ? undefined : remembered?.answeredChainId;
  // One write, so that the state never contains an adoption, or a configuration that a node has read, without a node identity.
  state.atomically(() => {
    state.identity.set({ ...found, dataPath: found.dataPath ?? remembered?.dataPath, answeredChainId });
    if (taken === "unknown") {
      // It can't be determined which node these belong to: drift from them might be drift from another node's configuration.
      state.nodeHas.set(undefined);
      state.restartInFlight.set(undefined);
    }
    if (isUnseen) state.adopted.set(undefined);
    const by = settings.upkeep.mode === "enforce" ? "setting" : taken === "acted" ? "earlier version" : undefined;
    if (by !== undefined && state.adopted.get() === undefined) state.adopted.set({ by, atMs: Date.now() });
  });
  const failure = state.store.failure();
  if (failure !== undefined) throw new StartupError(failure.message);
}

/** Determines the owner of a state without an identity. Returns `unknown` for new state, which contains nothing to discard. */
async function judgeOld(state: UpkeepState, found: NodeIdentity, claim: Claim): Promise<"acted" | "same" | "unknown"> {
  const match = await compareCopies(state.directory, describeOwner(claim));
  if (match.kind === "another") {
    throw new StartupError(
      `the state in ${state.directory} belongs to another node (of its copies of node.conf, ${match.why}); this sidecar is configured for ` +
        `${formatIdentity(found)}. Set GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to a directory for this node only. If it is the same ` +
        `node, moved on purpose, start the sidecar once with GATEHOUSE_SIDECAR_UPKEEP_MOVED_FROM=${match.remembered}`,
    );
  }
  return match.kind === "same" && hasActed(state) ? "acted" : match.kind;
}

function refuseAnotherNode(
  directory: string,
  remembered: NodeIdentity,
  found: NodeIdentity,
  differences: readonly NodeDifference[],
): StartupError {
  const others = differences.map(({ what }) => what).join(" and ");
  const before = differences.map((difference) => difference.remembered).join(",");
  return new StartupError(
    `the state in ${directory} belongs to another node: ${formatIdentity(remembered)}; this sidecar is configured for ` +
      `${formatIdentity(found)}, of another ${others}. Set ` +
      "GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY to a directory for this node only. If it is the same node, moved on purpose, start the sidecar once with " +
      `GATEHOUSE_SIDECAR_UPKEEP_MOVED_FROM=${before}`,
  );
}

function createDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
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
  const isOver = (result: Result) => !("reason" in result && result.reason === "Locked");
  return await waitUntil(acquire, isOver, { everyMs: lockRetryMs, withinMs: lockWithinMs, signal });
}
