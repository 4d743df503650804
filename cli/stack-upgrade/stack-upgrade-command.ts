import { systemClock, type Clock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { pause as pauseForReal, type Pause } from "#daemon/time.ts";
import { beginUpgrade, findStack, type BeginOptions } from "./begin-upgrade.ts";
import { findConfigFile } from "./config-file.ts";
import type { StackQueries } from "./node-status.ts";
import { createPlatform, createQueries } from "./platforms.ts";
import { findCurrentContext } from "./kubernetes/kubectl.ts";
import { explainBackendMismatch } from "./pulumi/pulumi-backend.ts";
import { createPulumiCli, type PulumiCli } from "./pulumi/pulumi-cli.ts";
import { createPulumiProcess, PulumiError } from "./pulumi/pulumi-process.ts";
import {
  Refused,
  findRecordPath,
  readRecord,
  RecordError,
  removeRecord,
  writeRecord,
  type StackLimits,
  type StackRecord,
} from "./stack-record.ts";
import { systemProcesses, type Processes } from "./pulumi/processes.ts";
import { runStackUpgrade, type RunResult } from "./run-stack-upgrade.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import { lockStack } from "./stack-lock.ts";
import type { RequestedVersion } from "./deployed-stack.ts";
import { describeRecord, formatEnd } from "./stack-plan.ts";
import { PlatformError, type StackPlatform } from "./stack-platform.ts";
import { urlOnKubernetes, type StackTarget } from "./stack-target.ts";
import { createStackSteps, type StackStepsDependencies } from "./stack-steps.ts";

/** The requested upgrade of one stack, and how the operator confirms it. */
export type StackUpgradeOptions = Pick<BeginOptions, "stack" | "statusUrl" | "limits" | "dryRun" | "yes" | "confirm"> &
  Readonly<{
    /** Absent only with `isContinued`. */
    requested: RequestedVersion | undefined;
    isContinued: boolean;
    /** Directory of the Pulumi program, absolute. */
    directory: string;
    /** The stack's configuration file, absolute; default: Pulumi's own. */
    configFile: string | undefined;
    /** Directory of the locks shared by this user's programs. */
    stateDirectory: string;
  }>;

/** Dependencies, with the real ones as defaults. */
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

/** The node must stay healthy for a while, because a crash-looping node responds between crashes. */
const defaultProof = { everyMs: 2_000, steadyMs: 30_000 };

/** Complete dependencies. */
type StackWork = Required<Omit<StackUpgradeDependencies, "backLimits">> & Pick<StackUpgradeDependencies, "backLimits">;

/**
 * Upgrades the node of a stack to another image, or resumes such an upgrade, and reports the outcome. Returns the exit status: 0 if the new
 * version is verified (dry run: if the upgrade could start), else 1.
 */
export async function runStackUpgradeCommand(
  options: StackUpgradeOptions,
  given: StackUpgradeDependencies,
): Promise<number> {
  const { output } = given;
  const work: StackWork = {
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
  try {
    const run = await runStack(options, work);
    if (typeof run === "number") return run;
    const { record, waits } = run;
    if (waits !== undefined) {
      output.error(
        `upgrade: not ended: ${waits}\nThe node may stand still meanwhile. Go on: ${formatContinueCommand(record)}\n`,
      );
      return exitStatus.error;
    }
    const isProved = record.end === "committed";
    (isProved ? output.out : output.error)(`${formatEnd(record)}\n`);
    return isProved ? exitStatus.clean : exitStatus.error;
  } catch (error) {
    const isExpected = [Refused, PulumiError, PlatformError, RecordError].some((kind) => error instanceof kind);
    if (!isExpected) throw error;
    output.error(`upgrade: ${(error as Error).message}\n`);
    return exitStatus.error;
  }
}

/**
 * Upgrades the node of a stack by `pulumi up`; resumes an upgrade left by an earlier run. Returns the exit status if the run started no
 * upgrade.
 *
 * @throws {Refused} with the remedy.
 */
async function runStack(options: StackUpgradeOptions, work: StackWork): Promise<RunResult | number> {
  const { stack, directory, requested, stateDirectory } = options;
  const path = findRecordPath(directory, stack);
  const known = readRecord(path);
  const nothing = new Refused(`no upgrade of ${stack} is under way in ${directory}`);
  if (known === undefined && requested === undefined) throw nothing;
  const configFile = await findConfigFile(options, known);
  const pulumi = work.pulumi({ stack: known?.stack ?? stack, directory, configFile });
  const place = known ?? (await findStack(options, { ...work, pulumi }));
  using lock = lockStack(stateDirectory, place);
  if (lock === undefined) throw new Refused(`another gatehouse upgrade of ${place.prefix} is at work`);
  // Another run that had the lock until now may have started an upgrade or finished this one.
  const current = readRecord(path);
  if (current?.id !== known?.id) {
    throw new Refused(`another gatehouse upgrade of ${stack} was at work; look, and say it again`);
  }
  if (current !== undefined) {
    await requireBackend(current, pulumi);
    const record = resumeRequested(current, { ...options, configFile });
    return await runSteps(record, { ...work, pulumi, path, isResumed: true });
  }
  if (requested === undefined) throw nothing;
  const record = await beginUpgrade({ ...options, requested, configFile }, { ...work, pulumi });
  if (typeof record === "number") return record;
  return await runSteps(record, { ...work, pulumi, path, isResumed: false });
}

/**
 * Rejects a different backend, which may have a stack with the same name. If Pulumi can't be queried, the steps that need it fail on their
 * own; starting the node doesn't need it.
 */
async function requireBackend(known: StackRecord, pulumi: PulumiCli): Promise<void> {
  try {
    const backend = await pulumi.readBackend();
    if (backend.sha256 === known.backend.sha256) return;
    throw new Refused(`${describeRecord(known)}; ${explainBackendMismatch(known.backend, backend)}`);
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
  }
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

/** A name without an organisation means Pulumi's default one. */
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
