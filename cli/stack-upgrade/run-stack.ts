import { systemClock, type Clock } from "#daemon/clock.ts";
import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import { pause as pauseForReal, type Pause } from "#daemon/time.ts";
import { beginUpgrade, findStack, type BeginOptions } from "./begin-upgrade.ts";
import { findConfigFile } from "./config-file.ts";
import type { StackQueries } from "./node-status.ts";
import { createPlatform, createQueries } from "./platforms.ts";
import { findCurrentContext } from "./kubernetes/kubectl.ts";
import { explainOtherBackend } from "./pulumi/pulumi-backend.ts";
import { createPulumiCli, type PulumiCli } from "./pulumi/pulumi-cli.ts";
import { createPulumiProcess, PulumiError } from "./pulumi/pulumi-process.ts";
import { Refused } from "./refused.ts";
import { systemProcesses, type Processes } from "./running-update.ts";
import { runStackUpgrade, type RunResult } from "./run-stack-upgrade.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import { lockStack } from "./stack-lock.ts";
import type { RequestedVersion } from "./stack-place.ts";
import { describeRecord } from "./stack-plan.ts";
import { PlatformError, type StackPlatform } from "./stack-platform.ts";
import {
  findRecordPath,
  readRecord,
  RecordError,
  removeRecord,
  writeRecord,
  type StackLimits,
  type StackRecord,
} from "./stack-record.ts";
import { urlOnKubernetes, type StackTarget } from "./stack-target.ts";
import { createStackSteps, type StackStepsDependencies } from "./stack-steps.ts";

/** The requested upgrade of one stack, and the way in which a person confirms it. */
export type StackUpgradeOptions = Pick<
  BeginOptions,
  "stack" | "statusUrl" | "limits" | "dryRun" | "agreed" | "yes" | "confirm"
> &
  Readonly<{
    /** Absent with `isContinued` alone. */
    requested: RequestedVersion | undefined;
    isContinued: boolean;
    /** Directory of the Pulumi program, absolute. */
    directory: string;
    /** The stack's configuration file, absolute; default: Pulumi's own. */
    configFile: string | undefined;
    /** Directory of the locks that this user's programs share. */
    stateDirectory: string;
  }>;

/** Dependencies; the defaults are the real ones. */
export type StackUpgradeDependencies = Readonly<{
  output: CommandOutput;
  signal: AbortSignal;
  pulumi?: (place: Readonly<{ stack: string; directory: string; configFile: string }>) => PulumiCli;
  platform?: (target: StackTarget) => StackPlatform;
  queries?: (target: StackTarget) => StackQueries;
  currentContext?: () => Promise<string | undefined>;
  processes?: Processes;
  clock?: Clock;
  pause?: Pause;
  proof?: StackStepsDependencies["proof"];
  backLimits?: StackLimits;
}>;

/** Steady for a while, because a node that crashes again and again answers in between. */
const defaultProof = { everyMs: 2_000, steadyMs: 30_000 };

/** Whether an error is a refusal whose message says what to do. */
export function isExpected(error: unknown): error is Error {
  return [Refused, PulumiError, PlatformError, RecordError].some((kind) => error instanceof kind);
}

/** Dependencies, complete. */
export type StackWork = Required<Omit<StackUpgradeDependencies, "backLimits">> &
  Pick<StackUpgradeDependencies, "backLimits">;

/** Completes dependencies with the real ones. */
export function buildWork(given: StackUpgradeDependencies): StackWork {
  return {
    pulumi: (place) => createPulumiCli(place, { run: createPulumiProcess(place.directory) }),
    platform: createPlatform,
    queries: createQueries,
    currentContext: findCurrentContext,
    processes: systemProcesses,
    clock: systemClock,
    pause: pauseForReal,
    proof: defaultProof,
    ...given,
  };
}

/** Result of a run; a number is the exit status of one that began nothing. */
export type StackRun = RunResult | number;

/**
 * Upgrades the node of a stack to another image by `pulumi up` and proves it; rolls image, data and configuration back if that fails.
 * Resumes an upgrade that an earlier run left.
 *
 * @throws {Error} for which {@link isExpected} is true.
 */
export async function runStack(options: StackUpgradeOptions, work: StackWork): Promise<StackRun> {
  const { stack, directory, requested, stateDirectory } = options;
  const path = findRecordPath(directory, stack);
  const known = readRecord(path);
  const nothing = `no upgrade of ${stack} is under way in ${directory}`;
  if (known === undefined && requested === undefined) throw new Refused(nothing);
  const configFile = await findConfigFile(options, known);
  const pulumi = work.pulumi({ stack: known?.stack ?? stack, directory, configFile });
  const place = known ?? (await findStack(options, { ...work, pulumi }));
  using lock = lockStack(stateDirectory, place);
  if (lock === undefined) throw new Refused(explainBusy(place));
  // Another run, which had the lock until now, may have begun an upgrade or ended this one.
  const current = readRecord(path);
  if (current?.id !== known?.id)
    throw new Refused(`another gatehouse upgrade of ${stack} was at work; look, and say it again`);
  if (current !== undefined) {
    await requireBackend(current, pulumi);
    return await runSteps(resumeRequested(current, { ...options, configFile }), {
      ...work,
      pulumi,
      path,
      isResumed: true,
    });
  }
  if (requested === undefined) throw new Refused(nothing);
  const record = await beginUpgrade({ ...options, requested, configFile }, { ...work, pulumi });
  if (typeof record === "number") return record;
  return await runSteps(record, { ...work, pulumi, path, isResumed: false });
}

/** Explains that another run works on a stack. Pure. */
export function explainBusy({ prefix }: Pick<StackRecord, "prefix">): string {
  return `another gatehouse upgrade of ${prefix} is at work`;
}

/** Refuses another backend, which may have a stack of the same name. If Pulumi can't be queried, steps that need it fail by themselves; starting the node does not. */
async function requireBackend(known: StackRecord, pulumi: PulumiCli): Promise<void> {
  try {
    const backend = await pulumi.readBackend();
    if (backend.sha256 === known.backend.sha256) return;
    throw new Refused(`${describeRecord(known)}; ${explainOtherBackend(known.backend, backend)}`);
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
  }
}

/** Amends the record that is resumed, by the same request or by --continue; refuses any other request meanwhile. Time limits and the sidecar's URL may change. */
function resumeRequested(
  known: StackRecord,
  options: StackUpgradeOptions & Readonly<{ configFile: string }>,
): StackRecord {
  const { stack, directory, configFile, requested, isContinued, dryRun, limits, statusUrl } = options;
  const isSame = isContinued || requested?.image === known.to.image;
  if (!isSame || dryRun || !isSameStack(stack, known.stack)) {
    throw new Refused(
      `${describeRecord(known)}; go on with it: ${formatContinueCommand({ ...known, directory, configFile })}`,
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

/** A name without its organisation stands for Pulumi's own choice of one. */
function isSameStack(typed: string, known: string): boolean {
  return typed === known || !typed.includes("/") || !known.includes("/");
}

type CarryOutDependencies = Omit<StackWork, "pulumi"> &
  Readonly<{ pulumi: PulumiCli; path: string; isResumed: boolean }>;

async function runSteps(
  begun: StackRecord,
  { output, path, isResumed, platform, queries, backLimits, ...rest }: CarryOutDependencies,
): Promise<RunResult> {
  const say = (line: string) => output.out(`${line}\n`);
  if (isResumed) say(`Goes on: ${describeRecord(begun)}.`);
  const common = { ...rest, say };
  const steps = createStackSteps({
    ...common,
    platform: platform(begun.target),
    queries: queries(begun.target),
    ...(backLimits === undefined ? {} : { backLimits }),
  });
  const remember = (record: StackRecord) => writeRecord(path, record);
  const result = await runStackUpgrade(begun, { isResumed }, { ...common, steps, remember });
  if (result.waits === undefined && result.record.end !== "stranded") await removeRecord(path);
  return result;
}
