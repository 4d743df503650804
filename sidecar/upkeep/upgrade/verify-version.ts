import { isIdle, type RpcState } from "#health/rpc-state.ts";
import {
  compareProgram,
  identifyProgram,
  nameProgram,
  parseBinaryVersion,
  parseClientVersion,
  parseNodeCliVersion,
  parseNodeVersion,
  type ProgramIdentity,
  type ReleaseCommits,
} from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import { prepareProcessCheck } from "../restart/process-watch.ts";
import { restartAndVerify, type VerificationDependencies } from "../restart/restart-verification.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { startNode, type StopStartDependencies } from "./stop-and-start.ts";
import { findOtherFile, hashFiles, locateKeptPrograms } from "./program-files.ts";
import { findDataConcern, findHeightConcern, findVersionConcern, verifyNode } from "../../upgrade/verify-node.ts";
import type { NodeRpc } from "../../upgrade/node-rpc.ts";

export type UpgradeSide = "from" | "to";

export type VerifyVersionDependencies = StopStartDependencies &
  Pick<VerificationDependencies, "lastPush" | "waitsFor"> &
  Readonly<{
    settings: Pick<SidecarSettings, "restart" | "node" | "nodeCli">;
    rpc: NodeRpc;
    nodeCli: NodeCli | undefined;
    commits: () => ReleaseCommits;
  }>;

const checkAgainMs = 250;

/** `isResumed`: an earlier sidecar may have started the node. A node that reports neither version nor commit must have its programs. */
export async function verifyVersion(
  side: UpgradeSide,
  record: UpgradeRecord,
  isResumed: boolean,
  dependencies: VerifyVersionDependencies,
): Promise<void> {
  const { settings, driver, clock, signal } = dependencies;
  const { restart } = settings;
  const verified = await restartAndVerify(
    () => startNode(isResumed, restart.healthyWithinMs, dependencies),
    { ...restart, isAlreadyCommanded: isResumed, signal },
    { ...dependencies, beforeRestart: () => prepareProcessCheck(driver) },
  );
  if (!verified.ok) throw new UpgradeError(verified.message);
  const findDoubt = async () =>
    (await findVersionDoubt(side, record, dependencies)) ??
    (await findChainDoubt(record, dependencies)) ??
    (await findPruneDoubt(record, dependencies));
  await verifyNode(findDoubt, { everyMs: checkAgainMs, withinMs: restart.healthyWithinMs, signal }, clock);
}

async function findVersionDoubt(
  side: UpgradeSide,
  record: UpgradeRecord,
  { settings, check, nodeCli, commits, signal }: VerifyVersionDependencies,
): Promise<string | undefined> {
  const { before, files, binDirectory } = record;
  const wanted = { version: parseNodeVersion(record[side]), commit: record.commits?.[side] };
  const reported = identifyNode(await check(signal), settings.node.clientName, commits());
  const identifyInstalled = async () => {
    const answer = await nodeCli?.version(signal);
    if (answer?.ok !== true) return undefined;
    return identifyProgram(answer.value, (text) => parseNodeCliVersion(text, settings.nodeCli.command), commits());
  };
  const found = reported ?? (before.tellsVersion ? undefined : await identifyInstalled());
  const doubt = findVersionConcern(wanted, before, { reported, found });
  if (doubt !== undefined || (found !== undefined && compareProgram(found, wanted) === "same")) return doubt;
  // A node and a tool that report no version are identified by the content of the programs.
  const programs = side === "to" ? files : await hashFiles(files, locateKeptPrograms(record));
  const other = await findOtherFile(programs, binDirectory);
  return other && `${other} in the directory of its programs is not that of ${nameProgram(wanted)}`;
}

async function findChainDoubt(
  { before }: UpgradeRecord,
  { check, rpc, signal }: VerifyVersionDependencies,
): Promise<string | undefined> {
  const hash = before.block && (await rpc.blockHash(before.block.number, signal));
  const health = await check(signal);
  if (health.failure !== undefined) return "it stopped responding";
  return findDataConcern(before, hash) ?? findHeightConcern(before, health.height, isIdle(health));
}

async function findPruneDoubt(
  { before }: UpgradeRecord,
  { nodeCli, signal }: VerifyVersionDependencies,
): Promise<string | undefined> {
  if (!before.autoPrune || nodeCli === undefined) return undefined;
  const answer = await nodeCli.pruneInfo(signal);
  if (!answer.ok) return `auto-pruning was on, and can't be queried now: ${answer.message}`;
  return answer.value.autoPrune ? undefined : "auto-pruning was on, and is off";
}

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
