import { stat } from "node:fs/promises";
import { join } from "node:path";
import { systemClock, type Clock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { checkStack } from "./check-stack.ts";
import { createEngine, EngineError, type Engine } from "./engine.ts";
import { createStackQuestions, type StackQuestions } from "./node-status.ts";
import { createPulumiCli, type PulumiCli } from "./pulumi-cli.ts";
import { createPulumiProcess, PulumiError } from "./pulumi-process.ts";
import { runStackUpgrade } from "./run-stack-upgrade.ts";
import { decideNewSide, readStackPlace, type AskedVersion } from "./stack-place.ts";
import { describeRecord, formatEnd, formatStackPlan } from "./stack-plan.ts";
import {
  findRecordPath,
  lockRecord,
  readRecord,
  RecordError,
  removeRecord,
  writeRecord,
  type StackRecord,
} from "./stack-record.ts";
import { createStackSteps, type StackStepsDependencies } from "./stack-steps.ts";

/** What is asked, and how a person agrees. */
export type StackUpgradeOptions = Readonly<{
  stack: string;
  /** Absent with `isContinued` alone. */
  asked: AskedVersion | undefined;
  isContinued: boolean;
  /** Directory of the Pulumi program, absolute. */
  directory: string;
  /** The stack's configuration, absolute; default: where Pulumi looks for it. */
  configFile: string | undefined;
  /** Where the sidecar is asked; default: where the stack's outputs say. */
  statusUrl: string | undefined;
  limits: StackRecord["limits"];
  dryRun: boolean;
  yes: boolean;
  confirm: ((question: string) => Promise<boolean>) | undefined;
}>;

/** What does the work; the defaults are the real ones. */
export type StackUpgradeDependencies = Readonly<{
  output: CommandOutput;
  signal: AbortSignal;
  pulumi?: PulumiCli;
  engine?: (address: string) => Engine | undefined;
  questions?: (place: Readonly<{ statusUrl: string; rpcUrl: string }>) => StackQuestions;
  clock?: Clock;
  proof?: StackStepsDependencies["proof"];
}>;

/** A node that crashes again and again answers in between. */
const defaultProof = { everyMs: 2_000, steadyMs: 30_000 };

/** What can't be done, and what to do about it; nothing was changed. */
class Refused extends Error {
  override readonly name = "Refused";
  readonly code = "refused";
}

/**
 * Takes the node of a stack to another image by `pulumi up`, proves it, and takes image, data and configuration back otherwise; or goes on with that where an
 * earlier run ended. Returns the exit status: 0 the new version is proved (dry run: it could begin), 1 it is not.
 */
export async function runStackUpgradeCommand(
  options: StackUpgradeOptions,
  dependencies: StackUpgradeDependencies,
): Promise<number> {
  const { stack, directory } = options;
  const { output } = dependencies;
  try {
    const configFile = options.configFile ?? join(directory, `Pulumi.${stack.split("/").at(-1) ?? stack}.yaml`);
    await requireFile(configFile);
    const path = findRecordPath(directory, stack);
    using lock = lockRecord(path);
    if (lock === undefined) throw new Refused(`another gatehouse upgrade of ${stack} is at work in ${directory}`);
    const pulumi =
      dependencies.pulumi ?? createPulumiCli({ stack, configFile }, { run: createPulumiProcess(directory) });
    const known = readRecord(path);
    const record =
      known === undefined ? await beginUpgrade(options, { ...dependencies, pulumi }) : agreeToGoOn(known, options);
    if (typeof record === "number") return record;
    return await carryOut(record, { ...dependencies, pulumi, path, isResumed: known !== undefined }, options);
  } catch (error) {
    if (!expected.some((kind) => error instanceof kind)) throw error;
    output.error(`upgrade: ${(error as Error).message}\n`);
    return exitStatus.error;
  }
}

/** What a person can do something about. */
const expected = [Refused, PulumiError, EngineError, RecordError] as const;

async function requireFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Refused(
      `${path} can't be read (${error.code ?? error.message}); name it by --config-file, or the program's directory by --cwd`,
    );
  });
  if (!found.isFile()) throw new Refused(`${path} is no file`);
}

/** What an earlier run began is gone on with, by the same words or by --continue; nothing else is begun meanwhile. */
function agreeToGoOn(known: StackRecord, { asked, isContinued, dryRun }: StackUpgradeOptions): StackRecord {
  const isSame = isContinued || asked?.image === known.to.image;
  if (!isSame || dryRun) {
    throw new Refused(`${describeRecord(known)}; go on with it: ${continueCommand(known)}`);
  }
  return known;
}

function continueCommand({ stack }: Pick<StackRecord, "stack">): string {
  return `gatehouse upgrade --stack ${stack} --continue`;
}

/** Checks, shows and asks; returns the record of what is to be done, or the exit status where nothing is. */
async function beginUpgrade(
  { stack, asked, statusUrl, limits, dryRun, yes, confirm }: StackUpgradeOptions,
  {
    output,
    pulumi,
    engine: findEngine = createEngine,
    questions: createQuestions = createStackQuestions,
    clock = systemClock,
    signal,
  }: StackUpgradeDependencies & Readonly<{ pulumi: PulumiCli }>,
): Promise<StackRecord | number> {
  if (asked === undefined) throw new Refused(`no upgrade of ${stack} is under way here`);
  const place = await readPlace();
  const to = decideNewSide(place, asked);
  if (to === undefined) throw new Refused(`the tag of ${asked.image} tells no version; say it by --node-version`);
  const engine = findEngine(place.engine);
  if (engine === undefined) {
    throw new Refused(`the stack's engine is at ${place.engine}; run this on the machine where that engine is`);
  }
  const check = await checkStack(place, to, { pulumi, engine, questions: createQuestions(place) });
  output.out(formatStackPlan(place, to, check, limits));
  const { before, toolImage, problems } = check;
  if (problems.length > 0 || before === undefined || toolImage === undefined) {
    throw new Refused("it can't be done now, for the reasons above; nothing was changed");
  }
  if (dryRun) return exitStatus.clean;
  if (!(yes || (await confirm?.("Upgrade the node now? [y/N] ")) === true)) {
    throw new Refused(`nothing was changed.${confirm === undefined ? " Without a terminal, say --yes." : ""}`);
  }
  if (signal.aborted) throw new Refused("it was ended by a signal; nothing was changed");
  const nowMs = clock.wallMs();
  return {
    ...place,
    id: new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-"),
    toolImage,
    to,
    before,
    limits,
    beganMs: nowMs,
    stage: "stopping",
    stageSinceMs: nowMs,
    attempts: 0,
    interruptions: 0,
    newRan: false,
  };

  async function readPlace() {
    const [config, outputs] = [await pulumi.readConfig(), await pulumi.readOutputs()];
    try {
      return readStackPlace(stack, { config, outputs, statusUrl });
    } catch (error) {
      throw new Refused((error as Error).message);
    }
  }
}

type CarryOutDependencies = StackUpgradeDependencies &
  Readonly<{ pulumi: PulumiCli; path: string; isResumed: boolean }>;

async function carryOut(
  begun: StackRecord,
  {
    output,
    pulumi,
    path,
    isResumed,
    signal,
    engine: findEngine = createEngine,
    questions: createQuestions = createStackQuestions,
    clock = systemClock,
    proof = defaultProof,
  }: CarryOutDependencies,
  { stack }: StackUpgradeOptions,
): Promise<number> {
  const engine = findEngine(begun.engine);
  if (engine === undefined) throw new Refused(`no engine can be reached at ${begun.engine}`);
  const say = (line: string) => output.out(`${line}\n`);
  if (isResumed) say(`Goes on: ${describeRecord(begun)}.`);
  const steps = createStackSteps({ pulumi, engine, questions: createQuestions(begun), say, clock, signal, proof });
  const remember = (record: StackRecord) => writeRecord(path, record);
  const { record, waits } = await runStackUpgrade(begun, { isResumed }, { steps, remember, say, clock, signal });
  if (waits !== undefined) {
    output.error(
      `upgrade: not ended: ${waits}\nThe node may stand still meanwhile. Go on: ${continueCommand({ stack })}\n`,
    );
    return exitStatus.error;
  }
  if (record.end !== "stranded") await removeRecord(path);
  const told = `${formatEnd(record, continueCommand({ stack }))}\n`;
  if (record.end === "committed") output.out(told);
  else output.error(told);
  return record.end === "committed" ? exitStatus.clean : exitStatus.error;
}
