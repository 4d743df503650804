import { waitUntil } from "#daemon/time.ts";
import { isIdle, type RpcState } from "#health/rpc-state.ts";
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
import { prepareProcessCheck } from "../restart/process-watch.ts";
import { restartAndVerify, type VerificationDependencies } from "../restart/restart-verification.ts";
import type { HostNodeBefore } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { startNode, type NodePowerDependencies } from "./node-power.ts";
import { findDataConcern, findHeightConcern, findVersionConcern } from "../../upgrade/node-before.ts";
import type { NodeRpc } from "../../upgrade/node-rpc.ts";

/** Version to verify, and the facts and deadlines of the verification. */
export type ProofOptions = Readonly<{
  wanted: ProgramIdentity;
  /** Finds a program whose content isn't that version's, for nodes and tools that report no version; undefined if there is none. */
  findOther: () => Promise<string | undefined>;
  before: HostNodeBefore;
  clientName: string | undefined;
  toolCommand?: string | undefined;
  answersWithinMs: number;
  healthyWithinMs: number;
  metricsWithinMs: number;
  /** Whether an earlier sidecar may have started the node. */
  isResumed: boolean;
}>;

export type ProofDependencies = NodePowerDependencies &
  Pick<VerificationDependencies, "lastPush" | "waitsFor"> &
  Readonly<{ rpc: NodeRpc; nodeCli: NodeCli | undefined; commits: () => ReleaseCommits }>;

const checkAgainMs = 250;

/**
 * Starts the node and verifies that it runs as the given version with the old data: it responds, its height advances, and metrics arrive
 * (if checked); it reports that version or commit, or else has its programs; an old block has its old hash; its height is above the old
 * one; auto-pruning is still on.
 */
export async function proveVersion(options: ProofOptions, dependencies: ProofDependencies): Promise<void> {
  const { driver, signal } = dependencies;
  const { isResumed: mayRun, healthyWithinMs } = options;
  const verified = await restartAndVerify(
    () => startNode({ mayRun, healthyWithinMs }, dependencies),
    { ...options, isAlreadyCommanded: mayRun, signal },
    { ...dependencies, beforeRestart: () => prepareProcessCheck(driver) },
  );
  if (!verified.ok) throw new UpgradeError(verified.message);
  const limits = { everyMs: checkAgainMs, withinMs: healthyWithinMs, signal };
  for (const check of listChecks(options, dependencies)) {
    const why = await waitUntil(check, (doubt) => doubt === undefined, limits, dependencies.clock);
    if (why !== undefined) throw new UpgradeError(why);
  }
}

/** Lists the checks of a started node; each explains why the node is not verified yet. */
function listChecks(
  options: ProofOptions,
  dependencies: ProofDependencies,
): readonly (() => Promise<string | undefined>)[] {
  const { before } = options;
  const { check, rpc, nodeCli, signal } = dependencies;
  return [
    () => checkVersion(options, dependencies),
    async () => before.block && findDataConcern(before, await rpc.blockHash(before.block.number, signal)),
    async () => {
      const health = await check(signal);
      const { height, failure } = health;
      if (failure !== undefined || height === undefined) return "it stopped responding";
      return findHeightConcern(before, height, isIdle(health));
    },
    async () => {
      if (!before.autoPrune || nodeCli === undefined) return undefined;
      const answer = await nodeCli.pruneInfo(signal);
      if (!answer.ok) return `auto-pruning was on, and can't be queried now: ${answer.message}`;
      return answer.value.autoPrune ? undefined : "auto-pruning was on, and is off";
    },
  ];
}

async function checkVersion(
  { wanted, findOther, before, clientName, toolCommand }: ProofOptions,
  { check, nodeCli, commits, signal }: ProofDependencies,
): Promise<string | undefined> {
  const health = await check(signal);
  const reported = identifyNode(health, clientName, commits());
  const isSilent = reported === undefined && before.tellsVersion;
  const found = isSilent ? undefined : (reported ?? (await identifyInstalled(nodeCli, toolCommand, commits(), signal)));
  const doubt = findVersionConcern(wanted, before, { reported, found });
  if (doubt !== undefined || (found !== undefined && compareProgram(found, wanted) === "same")) return doubt;
  const other = await findOther();
  return other && `${other} in the directory of its programs is not that of ${nameProgram(wanted)}`;
}

/** Identifies a running node from what it reports itself. */
export function identifyNode(
  { failure, binaryVersion: binary, clientVersion: client }: RpcState,
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
