import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { hasBeenPolled, type NodeHealth } from "#health/node-health.ts";
import { doubleWait, pause, poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { NodeCli, NodeCliResult } from "../drivers/node-cli.ts";
import { parseNodeCliVersion } from "#node/versions.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import { resolveVersion, type VersionResolution } from "./version-resolution.ts";

/** What does not stand in a file. */
export type NodeObserver = Readonly<{
  version: () => VersionResolution;
  /** The last PruneInfo; a new object at each query, undefined when the last query gave none. */
  pruneInfo: () => PruneInfo | undefined;
  /** Asks node_cli now. */
  look: (signal: AbortSignal) => Promise<void>;
  /** Whether the tool has been queried at least once. */
  hasLooked: () => boolean;
  /** Whether the RPC had its chance to report the version: it was queried, or takes too long to wait for. */
  hasHeardNode: () => boolean;
  done: Promise<void>;
}>;

export type NodeObserverOptions = Readonly<{
  version?: string | undefined;
  clientName?: string | undefined;
  image?: string | undefined;
  intervalMs: number;
  signal: AbortSignal;
}>;

export type NodeObserverDependencies = Readonly<{
  /** Absent when there is no way to run the tool. */
  nodeCli: NodeCli | undefined;
  health: () => NodeHealth;
  clock: Clock;
  board: ConditionBoard;
  log: Logger;
  /** Called when something new was seen. */
  onChange: () => void;
}>;

/** How long a node that hangs is waited for at the start, where something else reports its version. */
const firstWordMs = 5_000;

/** How often it is seen whether a query is due. */
const checkMs = 1_000;

/**
 * Runs `node_cli` again and again for its version and PruneInfo, and says on the board whether it works. A tool that fails is run
 * again after a second, then after twice that and so on up to the regular interval, and as soon as the node begins to answer:
 * in a pod the sidecar runs before the container that holds the tool does.
 */
export function observeNode(options: NodeObserverOptions, dependencies: NodeObserverDependencies): NodeObserver {
  const { nodeCli, health, clock, board, onChange } = dependencies;
  let cliVersion: string | undefined;
  // What node_cli said when the node last reported its version: another one since then means another node.
  let cliVersionThen: string | undefined;
  let lastSummary: string | undefined;
  let pruneInfo: PruneInfo | undefined;
  let hasLooked = nodeCli === undefined;
  let failures = 0;
  let dueMs = -Infinity;
  let nodeAnswered = false;
  const noteVersion = () => {
    if (health().binaryVersion?.isCurrent === true) cliVersionThen = cliVersion;
  };
  const look = async (signal: AbortSignal) => {
    if (nodeCli === undefined) {
      const message = "node_cli is not run (nodeCli.runner is none): pruning is neither seen nor set.";
      board.set({ type: "NodeCliWorking", status: "Unknown", reason: "NotRun", message });
      return;
    }
    nodeAnswered = answersNow(health());
    cliVersion = await believedVersion(nodeCli, cliVersion, signal);
    noteVersion();
    const answer = await nodeCli.pruneInfo(signal);
    hasLooked = true;
    if (signal.aborted) return;
    pruneInfo = answer.ok ? answer.value : undefined;
    failures = answer.ok ? 0 : failures + 1;
    board.set(nodeCliCondition(answer, clock.wallMs() + waitMs(failures, options.intervalMs)));
    onChange();
  };
  const version = () => {
    const { binaryVersion: binary, clientVersion } = health();
    const isReplaced = binary?.isCurrent === false && isAnotherVersion(cliVersion, cliVersionThen);
    return resolveVersion({
      binary: isReplaced ? undefined : binary,
      setting: options.version,
      nodeCli: cliVersion,
      clientVersion,
      clientName: options.clientName,
      image: options.image,
    });
  };
  const followVersion = () => {
    noteVersion();
    const { version: now, doubt } = version();
    const summary = `${now?.text} ${doubt}`;
    if (lastSummary !== undefined && summary !== lastSummary) onChange();
    lastSummary = summary;
  };
  const lookWhenDue = async (signal: AbortSignal) => {
    followVersion();
    const hasBegunToAnswer = failures > 0 && !nodeAnswered && answersNow(health());
    if (clock.monotonicMs() < dueMs && !hasBegunToAnswer) return;
    try {
      await look(signal);
    } finally {
      dueMs = clock.monotonicMs() + waitMs(failures, options.intervalMs);
    }
  };
  const intervalMs = Math.min(checkMs, options.intervalMs);
  const done = poll({ name: "node_cli", intervalMs, signal: options.signal }, lookWhenDue, dependencies);
  const beganMs = clock.monotonicMs();
  const hasHeardNode = () => hasBeenPolled(health()) || clock.monotonicMs() - beganMs > firstWordMs;
  return { version, pruneInfo: () => pruneInfo, look, hasLooked: () => hasLooked, hasHeardNode, done };
}

/** Time between two questions for a version that is another than before. */
const repeatedAfterMs = 250;

/**
 * What the tool prints for its version. The version decides where node.conf is and how its keys are named, so another answer than before
 * counts once the tool has given it twice in a row: one odd answer is as if it had not been given.
 */
async function believedVersion(
  nodeCli: NodeCli,
  before: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const printed = await nodeCli.version(signal);
  if (!printed.ok || printed.value === before) return before;
  await pause(repeatedAfterMs, signal);
  const again = await nodeCli.version(signal);
  return again.ok && again.value === printed.value ? printed.value : before;
}

function isAnotherVersion(printed: string | undefined, before: string | undefined): boolean {
  const [now, then] = [printed, before].map((text) => (text === undefined ? undefined : parseNodeCliVersion(text)));
  return now !== undefined && then !== undefined && now.release !== then.release;
}

function answersNow({ answers, failure }: NodeHealth): boolean {
  return answers > 0 && failure === undefined;
}

/** Time until the next query, after so many in a row that failed. */
function waitMs(failures: number, intervalMs: number): number {
  return failures === 0 ? intervalMs : doubleWait(failures, { initialMs: checkMs, maxMs: intervalMs });
}

function nodeCliCondition(result: NodeCliResult<PruneInfo>, againAtMs: number): ConditionReport {
  const type = "NodeCliWorking";
  if (result.ok) return { type, status: "True", reason: "Working", message: "node_cli prune --get answers." };
  const message = `${result.message} It is run again at ${new Date(againAtMs).toISOString()}.`;
  return { type, status: "False", reason: result.reason, message };
}
