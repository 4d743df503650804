import { systemClock, type Clock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { pause as pauseForReal, type Pause } from "#daemon/time.ts";
import { beginUpgrade, findStack, type BeginOptions } from "./begin-upgrade.ts";
import { findConfigFile } from "./config-file.ts";
import { createEngine, EngineError, type Engine } from "./engine.ts";
import { createStackQuestions, type StackQuestions } from "./node-status.ts";
import { explainOtherBackend } from "./pulumi-backend.ts";
import { createPulumiCli, type PulumiCli } from "./pulumi-cli.ts";
import { createPulumiProcess, PulumiError } from "./pulumi-process.ts";
import { Refused } from "./refused.ts";
import { systemProcesses, type Processes } from "./running-update.ts";
import { runStackUpgrade } from "./run-stack-upgrade.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import { lockStack } from "./stack-lock.ts";
import type { RequestedVersion } from "./stack-place.ts";
import { describeRecord, formatEnd } from "./stack-plan.ts";
import {
  findRecordPath,
  readRecord,
  RecordError,
  removeRecord,
  writeRecord,
  type StackLimits,
  type StackRecord,
} from "./stack-record.ts";
import { createStackSteps, type StackStepsDependencies } from "./stack-steps.ts";

/** What is asked, and how a person agrees. */
export type StackUpgradeOptions = Pick<BeginOptions, "stack" | "statusUrl" | "limits" | "dryRun" | "yes" | "confirm"> &
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

/** What does the work; the defaults are the real ones. */
export type StackUpgradeDependencies = Readonly<{
  output: CommandOutput;
  signal: AbortSignal;
  pulumi?: (place: Readonly<{ stack: string; directory: string; configFile: string }>) => PulumiCli;
  engine?: (address: string) => Engine | undefined;
  questions?: (place: Readonly<{ statusUrl: string; rpcUrl: string }>) => StackQuestions;
  processes?: Processes;
  clock?: Clock;
  pause?: Pause;
  proof?: StackStepsDependencies["proof"];
  backLimits?: StackLimits;
}>;

/** A node that crashes again and again answers in between. */
const defaultProof = { everyMs: 2_000, steadyMs: 30_000 };

/**
 * Takes the node of a stack to another image by `pulumi up`, proves it, and takes image, data and configuration back otherwise; or goes on with that where an
 * earlier run ended. Returns the exit status: 0 the new version is proved (dry run: it could begin), 1 it is not.
 */
export async function runStackUpgradeCommand(
  options: StackUpgradeOptions,
  dependencies: StackUpgradeDependencies,
): Promise<number> {
  try {
    return await run(options, {
      pulumi: (place) => createPulumiCli(place, { run: createPulumiProcess(place.directory) }),
      engine: createEngine,
      questions: createStackQuestions,
      processes: systemProcesses,
      clock: systemClock,
      pause: pauseForReal,
      proof: defaultProof,
      ...dependencies,
    });
  } catch (error) {
    if (!expected.some((kind) => error instanceof kind)) throw error;
    dependencies.output.error(`upgrade: ${(error as Error).message}\n`);
    return exitStatus.error;
  }
}

/** What a person can do something about. */
const expected = [Refused, PulumiError, EngineError, RecordError] as const;

type Dependencies = Required<Omit<StackUpgradeDependencies, "backLimits">> &
  Pick<StackUpgradeDependencies, "backLimits">;

async function run(options: StackUpgradeOptions, dependencies: Dependencies): Promise<number> {
  const { stack, directory, requested, stateDirectory } = options;
  const path = findRecordPath(directory, stack);
  const known = readRecord(path);
  const nothing = `no upgrade of ${stack} is under way in ${directory}`;
  if (known === undefined && requested === undefined) throw new Refused(nothing);
  const configFile = await findConfigFile(options, known);
  const pulumi = dependencies.pulumi({ stack: known?.stack ?? stack, directory, configFile });
  const place = known ?? (await findStack(options, { pulumi }));
  using lock = lockStack(stateDirectory, place);
  if (lock === undefined) throw new Refused(`another gatehouse upgrade of ${place.prefix} is at work`);
  // Whoever had the lock until now may have begun one, or ended it.
  const current = readRecord(path);
  if (current?.id !== known?.id)
    throw new Refused(`another gatehouse upgrade of ${stack} was at work; look, and say it again`);
  if (current !== undefined) {
    await requireBackend(current, pulumi);
    return await carryOut(agreeToGoOn(current, { ...options, configFile }), {
      ...dependencies,
      pulumi,
      path,
      isResumed: true,
    });
  }
  if (requested === undefined) throw new Refused(nothing);
  const record = await beginUpgrade({ ...options, requested, configFile }, { ...dependencies, pulumi });
  if (typeof record === "number") return record;
  return await carryOut(record, { ...dependencies, pulumi, path, isResumed: false });
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

/** What an earlier run began is gone on with, by the same words or by --continue; nothing else is begun meanwhile. What may change is how long it takes, and where the sidecar is asked. */
function agreeToGoOn(known: StackRecord, options: StackUpgradeOptions & Readonly<{ configFile: string }>): StackRecord {
  const { stack, directory, configFile, requested, isContinued, dryRun, limits, statusUrl } = options;
  const isSame = isContinued || requested?.image === known.to.image;
  if (!isSame || dryRun || !isSameStack(stack, known.stack)) {
    throw new Refused(
      `${describeRecord(known)}; go on with it: ${formatContinueCommand({ ...known, directory, configFile })}`,
    );
  }
  const place = { directory, configFile, statusUrl: statusUrl ?? known.statusUrl };
  return { ...known, ...place, limits: { ...known.limits, ...limits } };
}

/** A name without its organization stands for Pulumi's own choice of one. */
function isSameStack(typed: string, known: string): boolean {
  return typed === known || !typed.includes("/") || !known.includes("/");
}

type CarryOutDependencies = Omit<Dependencies, "pulumi"> &
  Readonly<{ pulumi: PulumiCli; path: string; isResumed: boolean }>;

async function carryOut(
  begun: StackRecord,
  { output, path, isResumed, engine: findEngine, questions, backLimits, ...rest }: CarryOutDependencies,
): Promise<number> {
  const engine = findEngine(begun.engine);
  if (engine === undefined) throw new Refused(`no engine can be reached at ${begun.engine}`);
  const say = (line: string) => output.out(`${line}\n`);
  if (isResumed) say(`Goes on: ${describeRecord(begun)}.`);
  const common = { ...rest, say };
  const steps = createStackSteps({
    ...common,
    engine,
    questions: questions(begun),
    ...(backLimits === undefined ? {} : { backLimits }),
  });
  const remember = (record: StackRecord) => writeRecord(path, record);
  const { record, waits } = await runStackUpgrade(begun, { isResumed }, { ...common, steps, remember });
  if (waits !== undefined) {
    output.error(
      `upgrade: not ended: ${waits}\nThe node may stand still meanwhile. Go on: ${formatContinueCommand(record)}\n`,
    );
    return exitStatus.error;
  }
  if (record.end !== "stranded") await removeRecord(path);
  const reported = `${formatEnd(record)}\n`;
  if (record.end === "committed") output.out(reported);
  else output.error(reported);
  return record.end === "committed" ? exitStatus.clean : exitStatus.error;
}
