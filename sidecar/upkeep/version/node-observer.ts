import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { hasBeenPolled, type RpcState } from "#health/rpc-state.ts";
import { doubleWait, pause, poll } from "#daemon/time.ts";
import { describeFailedCheck } from "#status/failed-check.ts";
import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import type { NodeCli, NodeCliResult } from "../drivers/node-cli.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import { isAnotherProgram, resolveVersion, type VersionResolution } from "./version-resolution.ts";

export type NodeObserver = ReturnType<typeof observeNode>;

export type NodeObserverOptions = Readonly<{
  version?: string | undefined;
  clientName?: string | undefined;
  image?: string | undefined;
  toolCommand?: string | undefined;
  intervalMs: number;
  signal: AbortSignal;
}>;

export type NodeObserverDependencies = Readonly<{
  nodeCli: NodeCli | undefined;
  health: () => RpcState;
  commits: () => ReleaseCommits;
  clock: Clock;
  log: Logger;
  /** Called after each query with the reason why the pruning state is unknown; undefined if node_cli reported PruneInfo. */
  onTool: (report: ConditionReport<"Pruning"> | undefined) => void;
  onChange: () => void;
}>;

/** Max wait at startup for a hung node or tool, if another source provides the version. */
const firstReportMs = 5_000;

const checkMs = 1_000;

const notRun = "node_cli is disabled (nodeCli.runner is none): pruning is neither monitored nor enabled.";

/**
 * A tool that failed is rerun after a second, then at growing intervals, once the node responds (in a pod, the tool's container starts
 * later), and on request.
 */
export function observeNode(options: NodeObserverOptions, dependencies: NodeObserverDependencies) {
  const { nodeCli, health, clock, onTool, onChange } = dependencies;
  const versions = followVersions(options, dependencies);
  let pruneResult: NodeCliResult<PruneInfo> | undefined;
  let hasChecked = nodeCli === undefined;
  let [failures, dueMs] = [0, -Infinity];
  let nodeResponded = false;
  const failed = (error: unknown) => {
    hasChecked = true;
    pruneResult = undefined;
    failures += 1;
    dueMs = clock.monotonicMs() + computeWaitMs(failures, options.intervalMs);
    onTool(buildUnknown("CheckFailed", describeFailedCheck("The check of node_cli", error)));
    onChange();
  };
  const readVersion = async (signal: AbortSignal) => {
    if (nodeCli === undefined) {
      onTool(buildUnknown("NotRun", notRun));
      return;
    }
    nodeResponded = isResponding(health());
    versions.heard(await confirmVersion(nodeCli, versions.printed(), signal));
    hasChecked ||= !signal.aborted;
    const result = await nodeCli.pruneInfo(signal);
    if (signal.aborted) return;
    pruneResult = result;
    failures = result.ok ? 0 : failures + 1;
    onTool(explainFailure(result, clock.wallMs() + computeWaitMs(failures, options.intervalMs)));
    onChange();
  };
  const checkIfDue = async (signal: AbortSignal) => {
    if (versions.follow()) onChange();
    const hasStartedResponding = failures > 0 && !nodeResponded && isResponding(health());
    if (clock.monotonicMs() < dueMs && !hasStartedResponding) return;
    dueMs = Infinity;
    await readVersion(signal);
    // A retry requested meanwhile is due at once: the tool may have read the earlier node.conf.
    dueMs = Math.min(dueMs, clock.monotonicMs() + computeWaitMs(failures, options.intervalMs));
  };
  const everyMs = Math.min(checkMs, options.intervalMs);
  const polling = poll({ ...options, name: "node_cli", failed, intervalMs: everyMs }, checkIfDue, dependencies);
  const beganMs = clock.monotonicMs();
  /** Whether the node reported its version, or node and tool had their chance: after an upgrade, the configured one may be outdated. */
  const isReady = () => {
    const isLate = clock.monotonicMs() - beganMs > firstReportMs;
    const { version, isRunning = false } = versions.resolve();
    return (hasBeenPolled(health()) || isLate) && (hasChecked || isRunning || (isLate && version !== undefined));
  };
  const checkNow = async (signal: AbortSignal) => {
    try {
      await readVersion(signal);
    } catch (error) {
      if (!signal.aborted) failed(error);
      throw error;
    }
  };
  return {
    version: versions.resolve,
    /** Returns the last PruneInfo, a new object for each query; undefined if the last query returned none. */
    pruneInfo: () => (pruneResult?.ok === true ? pruneResult.value : undefined),
    /** Returns the reason why node_cli can't be run, if the last query found it missing or not executable. */
    missing: () => explainMissing(pruneResult),
    check: checkNow,
    isReady,
    /** Immediately reruns a tool that failed, because the node.conf that it reads has changed. */
    retryFailed: () => {
      if (failures === 0) return;
      dueMs = -Infinity;
      polling.wake();
    },
    done: polling.ended,
  };
}

function explainMissing(result: NodeCliResult<PruneInfo> | undefined): string | undefined {
  if (result === undefined || result.ok) return undefined;
  return result.reason === "NotFound" || result.reason === "NotExecutable" ? result.message : undefined;
}

function followVersions(
  options: NodeObserverOptions,
  { health, commits: known }: Pick<NodeObserverDependencies, "health" | "commits">,
) {
  let printed: string | undefined;
  // node_cli's version when the node last reported its own. If node_cli has since printed a different version, the node is a different one.
  let printedBefore: string | undefined;
  let lastSummary: string | undefined;
  const note = () => {
    if (health().binaryVersion?.isCurrent === true) printedBefore = printed;
  };
  const resolve = (): VersionResolution => {
    const { binaryVersion: reported, clientVersion: client, failure } = health();
    const clientVersion = client === undefined ? undefined : { text: client, isCurrent: failure === undefined };
    const commits = known();
    const isReplaced =
      reported?.isCurrent === false && isAnotherProgram({ now: printed, before: printedBefore, ...options }, commits);
    const binary = isReplaced ? undefined : reported;
    return resolveVersion({ ...options, setting: options.version, binary, nodeCli: printed, clientVersion, commits });
  };
  return {
    printed: () => printed,
    heard: (text: string | undefined) => {
      printed = text;
      note();
    },
    /** Returns whether the version differs from that at the last call. */
    follow: (): boolean => {
      note();
      const { version: now, doubt } = resolve();
      const [summary, previousSummary] = [`${now?.text} ${doubt}`, lastSummary];
      lastSummary = summary;
      return previousSummary !== undefined && summary !== previousSummary;
    },
    resolve,
  };
}

const repeatedAfterMs = 250;

/** A changed version moves node.conf and renames keys, so it counts only once the tool has printed it twice in a row. */
async function confirmVersion(
  nodeCli: NodeCli,
  previous: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const printed = await nodeCli.version(signal);
  if (!printed.ok || printed.value === previous) return previous;
  await pause(repeatedAfterMs, signal);
  const again = await nodeCli.version(signal);
  return again.ok && again.value === printed.value ? printed.value : previous;
}

function isResponding({ answers, failure }: RpcState): boolean {
  return answers > 0 && failure === undefined;
}

function computeWaitMs(failures: number, intervalMs: number): number {
  return failures === 0 ? intervalMs : doubleWait(failures, { initialMs: checkMs, maxMs: intervalMs });
}

function buildUnknown(reason: ReasonOf<"Pruning", "Unknown">, message: string): ConditionReport<"Pruning"> {
  return { type: "Pruning", status: "Unknown", reason, message };
}

function explainFailure(result: NodeCliResult<PruneInfo>, againAtMs: number): ConditionReport<"Pruning"> | undefined {
  if (result.ok) return undefined;
  const again = `t runs again at ${new Date(againAtMs).toISOString()}`;
  // The tool's output may end with a command; a sentence directly after it would be copied along with the command.
  const message = /[.?!]$/.test(result.message) ? `${result.message} I${again}.` : `${result.message} (i${again})`;
  return { type: "Pruning", status: "False", reason: result.reason, message };
}
