import { mkdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { createProcessLock } from "#daemon/files/process-lock.ts";
import { systemClock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { pause as pauseForReal } from "#daemon/time.ts";
import { beginUpgrade, findStack, type BeginOptions } from "./begin-upgrade.ts";
import type { StackQueries } from "./node-status.ts";
import { createPlatform, createQueries } from "./platforms.ts";
import { findCurrentContext } from "./kubernetes/kubectl.ts";
import { createPulumiCli, type PulumiCli } from "./pulumi/pulumi-cli.ts";
import { createPulumiProcess, PulumiError } from "./pulumi/pulumi-process.ts";
import {
  Refused,
  findRecordPath,
  readRecord,
  RecordError,
  removeRecord,
  writeRecord,
  type StackRecord,
  type StackTarget,
} from "./stack-record.ts";
import { runStackUpgrade } from "./run-stack-upgrade.ts";
import { formatContinueCommand, type CommandLocation } from "./stack-commands.ts";
import { describeRecord, formatEnd } from "./stack-plan.ts";
import { PlatformError, type StackPlatform } from "./stack-platform.ts";
import { urlOnKubernetes, type RequestedVersion } from "./deployed-stack.ts";
import type { StackWork } from "./stack-work.ts";

/** The requested upgrade of one stack, and how the operator confirms it. */
export type StackUpgradeOptions = Omit<BeginOptions, "requested" | "configFile"> &
  Readonly<{
    /** Absent only with `isContinued`. */
    requested: RequestedVersion | undefined;
    isContinued: boolean;
    /** The stack's configuration file, absolute; default: Pulumi's own. */
    configFile: string | undefined;
    /** Directory of the locks shared by this user's programs. */
    stateDirectory: string;
  }>;

/** Dependencies, with the real ones as defaults. */
export type StackUpgradeDependencies = Readonly<{
  output: CommandOutput;
  signal: AbortSignal;
  pulumi?: (place: CommandLocation) => PulumiCli;
  platform?: (prefix: string, target: StackTarget) => StackPlatform;
  queries?: (target: StackTarget) => StackQueries;
  currentContext?: () => Promise<string | undefined>;
}> &
  Partial<Pick<StackWork, "interrupt" | "clock" | "pause" | "proof" | "backLimits">>;

const defaults = {
  pulumi: (place: CommandLocation) => createPulumiCli(place, { run: createPulumiProcess(place.directory) }),
  platform: createPlatform,
  queries: createQueries,
  currentContext: findCurrentContext,
  interrupt: (pid: number) => sendSignal(pid, "SIGINT"),
  clock: systemClock,
  pause: pauseForReal,
  // The node must stay healthy for a while, because a crash-looping node responds between crashes.
  proof: { everyMs: 2_000, steadyMs: 30_000 },
};

/**
 * Upgrades the node of a stack to another image, or resumes such an upgrade, and reports the outcome. Returns the exit status: 0 if the new
 * version is verified (dry run: if the upgrade could start), else 1.
 */
export async function runStackUpgradeCommand(
  options: StackUpgradeOptions,
  given: StackUpgradeDependencies,
): Promise<number> {
  try {
    return await runStack(options, { ...defaults, ...given });
  } catch (error) {
    const isExpected = [Refused, PulumiError, PlatformError, RecordError].some((kind) => error instanceof kind);
    if (!isExpected) throw error;
    given.output.error(`upgrade: ${(error as Error).message}\n`);
    return exitStatus.error;
  }
}

/** @throws {Refused} with the remedy. */
async function runStack(
  options: StackUpgradeOptions,
  given: StackUpgradeDependencies & typeof defaults,
): Promise<number> {
  const { stack, directory, requested, stateDirectory } = options;
  const path = findRecordPath(directory, stack);
  const known = readRecord(path);
  const nothing = new Refused(`no upgrade of ${stack} is in flight in ${directory}`);
  if (known === undefined && requested === undefined) throw nothing;
  const configFile = await findConfigFile(options, known);
  const pulumi = given.pulumi({ stack: known?.stack ?? stack, directory, configFile });
  const place = known ?? (await findStack(options, { ...given, pulumi }));
  using lock = lockStack(stateDirectory, place.prefix);
  if (lock === undefined) throw new Refused(`another gatehouse upgrade of ${place.prefix} is running`);
  // Another run that had the lock until now may have started an upgrade or finished this one.
  const current = readRecord(path);
  if (current?.id !== known?.id) {
    throw new Refused(
      `another gatehouse upgrade of ${stack} was running; check its outcome, then run the command again`,
    );
  }
  if (current !== undefined) {
    await requireBackend(current, pulumi);
    const record = resumeRequested(current, { ...options, configFile });
    return await runSteps(record, { path, isResumed: true }, connect(record.target));
  }
  if (requested === undefined) throw nothing;
  const work = connect(place.target);
  const record = await beginUpgrade(place, { ...options, requested, configFile }, work);
  return typeof record === "number" ? record : await runSteps(record, { path, isResumed: false }, work);

  function connect(target: StackTarget) {
    const say = (line: string) => given.output.out(`${line}\n`);
    return { ...given, say, pulumi, platform: given.platform(place.prefix, target), queries: given.queries(target) };
  }
}

/**
 * Rejects a different backend, which may have a stack with the same name. If Pulumi can't be queried, the steps that need it fail on their
 * own; starting the node doesn't need it.
 */
async function requireBackend(known: StackRecord, pulumi: PulumiCli): Promise<void> {
  const backend = await pulumi.readBackend().catch((error: unknown) => {
    if (error instanceof PulumiError) return known.backend;
    throw error;
  });
  if (backend === known.backend) return;
  throw new Refused(
    `${describeRecord(known)}; it was started with the backend ${known.backend}, but Pulumi is logged in to ${backend}: log in to the former (pulumi login)`,
  );
}

/**
 * Amends the resumed record for the same request or --continue; rejects any other request until the upgrade is finished. Time limits and
 * the sidecar's URL may change.
 */
function resumeRequested(
  known: StackRecord,
  options: StackUpgradeOptions & Readonly<{ configFile: string }>,
): StackRecord {
  const { stack, directory, configFile, requested, isContinued, dryRun, limits, statusUrl } = options;
  const isSame = isContinued || requested?.image === known.to.image;
  if (!isSame || dryRun || !isSameStack(stack, known.stack)) {
    throw new Refused(
      `${describeRecord(known)}; continue it: ${formatContinueCommand({ ...known, directory, configFile })}`,
    );
  }
  const { target } = known;
  if (statusUrl !== undefined && target.kind === "kubernetes") throw new Refused(urlOnKubernetes);
  return {
    ...known,
    directory,
    configFile,
    target: target.kind === "docker" ? { ...target, statusUrl: statusUrl ?? target.statusUrl } : target,
    limits: { ...known.limits, ...limits },
  };
}

/** A name without an organisation means Pulumi's default one. */
function isSameStack(typed: string, known: string): boolean {
  return typed === known || !typed.includes("/") || !known.includes("/");
}

/**
 * Locks a stack for this process; undefined if another of this user's processes holds the lock.
 *
 * @throws {RecordError} if the file can't be locked.
 */
function lockStack(stateDirectory: string, prefix: string): Disposable | undefined {
  const path = join(stateDirectory, `stack-upgrade-${prefix}.lock`);
  try {
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new RecordError(`${stateDirectory} can't be created (${(cause as Error).message})`, { cause });
  }
  const lock = createProcessLock(path, prefix);
  const taken = lock.acquire();
  if (taken.ok) return lock;
  if (taken.reason === "Locked") return undefined;
  throw new RecordError(`${path} can't be locked; make it and its directory writable for this user`);
}

/**
 * Finds a stack's configuration file: the one given on the command line, or else the one with which the upgrade was begun.
 *
 * @throws {Refused} if it can't be read.
 */
async function findConfigFile(
  { stack, directory, configFile }: Pick<StackUpgradeOptions, "stack" | "directory" | "configFile">,
  known: StackRecord | undefined,
): Promise<string> {
  const path = configFile ?? known?.configFile ?? join(directory, `Pulumi.${stack.split("/").at(-1) ?? stack}.yaml`);
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (isFile) return path;
  throw new Refused(`${path} is not a readable file; specify it by --config-file, or the program's directory by --cwd`);
}

/** Runs the upgrade's steps, prints its outcome and returns the exit status. */
async function runSteps(
  begun: StackRecord,
  { path, isResumed }: Readonly<{ path: string; isResumed: boolean }>,
  { output, ...work }: StackWork & Readonly<{ output: CommandOutput }>,
): Promise<number> {
  if (isResumed) work.say(`Resuming ${describeRecord(begun)}.`);
  const remember = (record: StackRecord) => writeRecord(path, record);
  const { record, waits } = await runStackUpgrade(begun, { isResumed, remember }, work);
  if (waits !== undefined) {
    output.error(`upgrade: not finished: ${waits}\nThe node may be down. Continue: ${formatContinueCommand(record)}\n`);
    return exitStatus.error;
  }
  if (record.end !== "stranded") await removeRecord(path);
  const isVerified = record.end === "committed";
  (isVerified ? output.out : output.error)(`${formatEnd(record, work.platform)}\n`);
  return isVerified ? exitStatus.clean : exitStatus.error;
}
