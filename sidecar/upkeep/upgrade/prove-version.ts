import { waitUntil } from "#daemon/time.ts";
import { isAtRest, type NodeHealth } from "#health/node-health.ts";
import {
  compareProgram,
  identifyProgram,
  nameProgram,
  parseBinaryVersion,
  parseClientVersion,
  parseNodeCliVersion,
  type ProgramIdentity,
  type ReleaseCommits,
} from "#node/versions.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import { DriverError } from "../drivers/driver.ts";
import { prepareProcessLook } from "../restart/process-watch.ts";
import { restartAndVerify, type VerificationDependencies } from "../restart/restart-verification.ts";
import type { NodeBefore } from "../state/upgrade-record.ts";
import type { StepOutcome } from "./next-stage.ts";
import { startNode, type NodePowerDependencies } from "./node-power.ts";
import type { NodeRpc } from "./node-rpc.ts";

/** Version to prove, and the facts and deadlines of the proof. */
export type ProofOptions = Readonly<{
  wanted: ProgramIdentity;
  /** Finds a program that is not in place with the content of that version, for nodes and tools that report none; undefined if all are. */
  findOther: () => Promise<string | undefined>;
  before: NodeBefore;
  clientName: string | undefined;
  toolCommand?: string | undefined;
  answersWithinMs: number;
  healthyWithinMs: number;
  metricsWithinMs: number;
  /** Whether an earlier sidecar may have started it. */
  isResumed: boolean;
}>;

export type ProofDependencies = NodePowerDependencies &
  Pick<VerificationDependencies, "lastPush" | "waitsFor"> &
  Readonly<{ rpc: NodeRpc; nodeCli: NodeCli | undefined; commits: () => ReleaseCommits }>;

const lookAgainMs = 250;

/**
 * Starts the node and proves that it runs as a version with the old data: it answers, its height advances, metrics arrive (if they are
 * checked); it reports that version or commit, else has its programs; an old block has its old hash; its height is above the old one; auto-pruning is still on.
 */
export async function proveVersion(options: ProofOptions, dependencies: ProofDependencies): Promise<StepOutcome> {
  const { driver, signal } = dependencies;
  const { isResumed: mayRun, healthyWithinMs } = options;
  try {
    const verified = await restartAndVerify(
      () => startNode({ mayRun, healthyWithinMs }, dependencies),
      { ...options, isMade: mayRun, signal },
      { ...dependencies, beforeRestart: () => prepareProcessLook(driver) },
    );
    if (!verified.ok) return { ok: false, why: verified.message };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { ok: false, why: error.message };
  }
  for (const prove of [checkVersion, checkData, checkHeight, checkPruning]) {
    const why = await waitUntil(
      () => prove(options, dependencies),
      (doubt) => doubt === undefined,
      { everyMs: lookAgainMs, withinMs: options.healthyWithinMs, signal },
      dependencies.clock,
    );
    if (why !== undefined) return { ok: false, why };
  }
  return { ok: true };
}

async function checkVersion(
  { wanted, findOther, before, clientName, toolCommand }: ProofOptions,
  { look, nodeCli, commits, signal }: ProofDependencies,
): Promise<string | undefined> {
  const health = await look(signal);
  const reported = identifyNode(health, clientName, commits());
  if (reported === undefined && before.tellsVersion) {
    return `it does not report its version, which has to be ${nameProgram(wanted)}`;
  }
  const found = reported ?? (await identifyInstalled(nodeCli, toolCommand, commits(), signal));
  const compared = found === undefined ? "unknown" : compareProgram(found, wanted);
  if (compared === "same") return undefined;
  if (compared === "other") return `it runs as ${nameProgram(found ?? {})}, not as ${nameProgram(wanted)}`;
  const other = await findOther();
  return other && `${other} in the directory of its programs is not that of ${nameProgram(wanted)}`;
}

/** Identifies a running node by what it reports itself. */
export function identifyNode(
  { failure, binaryVersion: binary, clientVersion: client }: NodeHealth,
  clientName: string | undefined,
  commits: ReleaseCommits,
): ProgramIdentity | undefined {
  if (failure !== undefined) return undefined;
  const reported = binary?.isCurrent === true ? identifyProgram(binary.text, parseBinaryVersion, commits) : undefined;
  if (reported !== undefined) return reported;
  const version = client === undefined ? undefined : parseClientVersion(client, clientName);
  return version && { version };
}

async function identifyInstalled(
  nodeCli: NodeCli | undefined,
  command: string | undefined,
  commits: ReleaseCommits,
  signal: AbortSignal,
): Promise<ProgramIdentity | undefined> {
  const answer = await nodeCli?.version(signal);
  return answer?.ok === true
    ? identifyProgram(answer.value, (text) => parseNodeCliVersion(text, command), commits)
    : undefined;
}

async function checkData({ before }: ProofOptions, { rpc, signal }: ProofDependencies): Promise<string | undefined> {
  if (before.block === undefined) return undefined;
  const { number, hash } = before.block;
  const found = await rpc.blockHash(number, signal);
  if (found === hash) return undefined;
  const what = found === undefined ? "is gone" : `has the hash ${found}`;
  return `its data are others: block ${number}, which had the hash ${hash}, ${what}`;
}

async function checkHeight({ before }: ProofOptions, { look, signal }: ProofDependencies): Promise<string | undefined> {
  const health = await look(signal);
  const { height, failure } = health;
  if (failure !== undefined || height === undefined) return "it stopped answering";
  if (height > before.height || (height === before.height && isAtRest(health))) return undefined;
  return `its height is ${height}, and was ${before.height} before the upgrade`;
}

async function checkPruning(
  { before }: ProofOptions,
  { nodeCli, signal }: ProofDependencies,
): Promise<string | undefined> {
  if (!before.autoPrune || nodeCli === undefined) return undefined;
  const answer = await nodeCli.pruneInfo(signal);
  if (!answer.ok) return `pruning was on, and can't be queried now: ${answer.message}`;
  return answer.value.autoPrune ? undefined : "auto-pruning was on, and is off";
}
