import { waitUntil } from "#daemon/time.ts";
import { isAtRest, type NodeHealth } from "#health/node-health.ts";
import {
  parseBinaryVersion,
  parseClientVersion,
  parseNodeCliVersion,
  parseNodeVersion,
  type NodeVersion,
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
  version: string;
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
  Readonly<{ rpc: NodeRpc; nodeCli: NodeCli | undefined }>;

const lookAgainMs = 250;

/**
 * Starts the node and proves that it runs as a version with the old data: it answers, its height advances, metrics arrive (if they are
 * checked); it reports that version; an old block has its old hash; its height is above the old one; auto-pruning is still on.
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
  { version, before, clientName, toolCommand }: ProofOptions,
  { look, nodeCli, signal }: ProofDependencies,
): Promise<string | undefined> {
  const wanted = parseNodeVersion(version);
  const health = await look(signal);
  const printed =
    readReportedVersion(health, clientName) ??
    (before.tellsVersion ? undefined : await readInstalledVersion(nodeCli, toolCommand, signal));
  if (printed === undefined) return `it does not report its version, which has to be ${version}`;
  return printed.release === wanted?.release ? undefined : `it runs as ${printed.text}, not as ${version}`;
}

/** Reads the version that a running node reports itself. */
export function readReportedVersion(
  { failure, binaryVersion: binary, clientVersion: client }: NodeHealth,
  clientName: string | undefined,
): NodeVersion | undefined {
  if (failure !== undefined) return undefined;
  const reported = binary?.isCurrent === true ? parseBinaryVersion(binary.text) : undefined;
  return reported ?? (client === undefined ? undefined : parseClientVersion(client, clientName));
}

async function readInstalledVersion(
  nodeCli: NodeCli | undefined,
  command: string | undefined,
  signal: AbortSignal,
): Promise<NodeVersion | undefined> {
  const answer = await nodeCli?.version(signal);
  return answer?.ok === true ? parseNodeCliVersion(answer.value, command) : undefined;
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
