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
import { restartAndVerify } from "../restart/restart-verification.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { startNode, type StopStartContext } from "./stop-and-start.ts";
import { findOtherFile, hashFiles, locateKeptPrograms } from "./program-files.ts";
import { findDataProblem, findHeightProblem, findVersionConcern, verifyNode } from "../../upgrade/verify-node.ts";
import type { UpgradeContext } from "./upgrade-context.ts";

export type UpgradeSide = "from" | "to";

const checkAgainMs = 250;

/** `isResumed`: an earlier sidecar may have started the node. A node that reports neither version nor commit must have its programs. */
export async function verifyVersion(
  side: UpgradeSide,
  record: UpgradeRecord,
  isResumed: boolean,
  context: StopStartContext,
): Promise<void> {
  const { settings, clock, signal } = context;
  const { healthyWithinMs: withinMs } = settings.restart;
  const start = { command: () => startNode(isResumed, context), isAlreadyCommanded: isResumed };
  const restartResult = await restartAndVerify(start, context);
  if (!restartResult.ok) throw new UpgradeError(restartResult.message);
  const findProblem = async () =>
    (await findVersionProblem(side, record, context)) ??
    (await findChainProblem(record, context)) ??
    (await findPruneProblem(record, context));
  await verifyNode(findProblem, { everyMs: checkAgainMs, withinMs, signal }, clock);
}

async function findVersionProblem(
  side: UpgradeSide,
  record: UpgradeRecord,
  { settings, health, nodeCli, commits, signal }: UpgradeContext,
): Promise<string | undefined> {
  const { before, files, binDirectory } = record;
  const expectedIdentity = { version: parseNodeVersion(record[side]), commit: record.commits?.[side] };
  const reportedIdentity = identifyNode(await health.check(signal), settings.node.clientName, commits());
  const identifyInstalled = async () => {
    const output = await nodeCli?.version(signal);
    if (output?.ok !== true) return undefined;
    return identifyProgram(output.value, (text) => parseNodeCliVersion(text, settings.nodeCli.command), commits());
  };
  const found = reportedIdentity ?? (before.tellsVersion ? undefined : await identifyInstalled());
  const doubt = findVersionConcern(expectedIdentity, before, { reported: reportedIdentity, found });
  if (doubt !== undefined || (found !== undefined && compareProgram(found, expectedIdentity) === "same")) return doubt;
  // A node and a tool that report no version are identified by the content of the programs.
  const programs = side === "to" ? files : await hashFiles(files, locateKeptPrograms(record));
  const other = await findOtherFile(programs, binDirectory);
  return other && `${other} in the directory of its binaries is not that of ${nameProgram(expectedIdentity)}`;
}

async function findChainProblem(
  { before }: UpgradeRecord,
  { health: { check }, rpc, signal }: UpgradeContext,
): Promise<string | undefined> {
  const hash = before.block && (await rpc.blockHash(before.block.number, signal));
  const health = await check(signal);
  if (health.failure !== undefined) return "it stopped responding";
  return findDataProblem(before, hash) ?? findHeightProblem(before, health.height, isIdle(health));
}

async function findPruneProblem(
  { before }: UpgradeRecord,
  { nodeCli, signal }: UpgradeContext,
): Promise<string | undefined> {
  if (!before.autoPrune || nodeCli === undefined) return undefined;
  const output = await nodeCli.pruneInfo(signal);
  if (!output.ok) return `auto-pruning was on, but can't be queried now: ${output.message}`;
  return output.value.autoPrune ? undefined : "auto-pruning was on, but is now off";
}

export function identifyNode(
  { failure, binaryVersion: binary, clientVersion: client }: RpcState,
  clientName: string | undefined,
  commits: ReleaseCommits,
): ProgramIdentity | undefined {
  if (failure !== undefined) return undefined;
  const reportedProgram =
    binary?.isCurrent === true ? identifyProgram(binary.text, parseBinaryVersion, commits) : undefined;
  if (reportedProgram !== undefined) return reportedProgram;
  const version = client === undefined ? undefined : parseClientVersion(client, clientName);
  return version && { version };
}
