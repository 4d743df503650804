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

/** The request, and how a person agrees to it. */
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
    /** The stack's configuration, absolute; default: where Pulumi looks for it. */
    configFile: string | undefined;
    /** Where this user's programs keep what one of them at a time may do. */
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

/** A node that crashes again and again answers in between. */
const defaultProof = { everyMs: 2_000, steadyMs: 30_000 };

/** A refusal, with what a person can do about it. */
export function isExpected(error: unknown): error is Error {
  return [Refused, PulumiError, PlatformError, RecordError].some((kind) => error instanceof kind);
}

/** All that does the work. */
export type StackWork = Required<Omit<StackUpgradeDependencies, "backLimits">> &
  Pick<StackUpgradeDependencies, "backLimits">;

/** Builds what does the work, of the real things but for those that are given. */
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

/** What a run did: a number is the exit status of one that began nothing. */
export type StackRun = RunResult | number;

/**
 * Takes the node of a stack to another image by `pulumi up`, proves it, and takes image, data and configuration back otherwise; or goes on with that where an
 * earlier run ended.
 *
 * @throws {Error} for what {@link isExpected} knows.
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
  // Whoever had the lock until now may have begun one, or ended it.
  const current = readRecord(path);
  if (current?.id !== known?.id)
    throw new Refused(`another gatehouse upgrade of ${stack} was at work; look, and say it again`);
  if (current !== undefined) {
    await requireBackend(current, pulumi);
    return await carryOut(agreeToGoOn(current, { ...options, configFile }), { ...work, pulumi, path, isResumed: true });
  }
  if (requested === undefined) throw new Refused(nothing);
  const record = await beginUpgrade({ ...options, requested, configFile }, { ...work, pulumi });
  if (typeof record === "number") return record;
  return await carryOut(record, { ...work, pulumi, path, isResumed: false });
}

/** Says that another run has the right to work on a stack. Pure. */
export function explainBusy({ prefix }: Pick<StackRecord, "prefix">): string {
  return `another gatehouse upgrade of ${prefix} is at work`;
}

/** Another backend may have a stack of the same name. Where Pulumi can't be queried, what needs it fails by itself; a node that only has to be started does not. */
async function requireBackend(known: StackRecord, pulumi: PulumiCli): Promise<void> {
  try {
    const backend = await pulumi.readBackend();
    if (backend.sha256 === known.backend.sha256) return;
    throw new Refused(`${describeRecord(known)}; ${explainOtherBackend(known.backend, backend)}`);
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
  }
}

/** What an earlier run began is resumed, by the same words or by --continue; nothing else is begun meanwhile. What may change is how long it takes, and where the sidecar is queried. */
function agreeToGoOn(known: StackRecord, options: StackUpgradeOptions & Readonly<{ configFile: string }>): StackRecord {
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

async function carryOut(
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
