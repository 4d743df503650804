import { isDeepStrictEqual } from "node:util";
import type { Clock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import type { Pause } from "#daemon/time.ts";
import { isAgreedTo, type Agreement } from "#sidecar/upkeep/control/agreement.ts";
import { createFirstStage, formatWorkId } from "#sidecar/upkeep/upgrade/first-stage.ts";
import { checkStack, type StackCheck } from "./check-stack.ts";
import type { Engine } from "./engine.ts";
import type { StackQuestions } from "./node-status.ts";
import type { PulumiCli } from "./pulumi-cli.ts";
import { Refused } from "./refused.ts";
import { decideNewSide, readStackPlace, type RequestedVersion, type StackPlace } from "./stack-place.ts";
import { formatStackPlan } from "./stack-plan.ts";
import { defaultLimits, type StackLimits, type StackRecord, type UpgradeSide } from "./stack-record.ts";

/** What is asked for, and how a person agrees. */
export type BeginOptions = Readonly<{
  stack: string;
  /** Absolute. */
  directory: string;
  configFile: string;
  requested: RequestedVersion;
  statusUrl: string | undefined;
  limits: Partial<StackLimits>;
  dryRun: boolean;
}> &
  Pick<Agreement, "yes" | "confirm">;

export type BeginDependencies = Readonly<{
  output: CommandOutput;
  pulumi: PulumiCli;
  engine: (address: string) => Engine | undefined;
  questions: (place: Readonly<{ statusUrl: string; rpcUrl: string }>) => StackQuestions;
  clock: Pick<Clock, "wallMs">;
  pause: Pause;
  signal: AbortSignal;
}>;

/**
 * Reads where a stack runs.
 *
 * @throws {Refused} for one that can't be upgraded by this command.
 */
export async function findStack(
  { stack, statusUrl }: Pick<BeginOptions, "stack" | "statusUrl">,
  { pulumi }: Pick<BeginDependencies, "pulumi">,
): Promise<StackPlace> {
  const [config, outputs] = [await pulumi.readConfig(), await pulumi.readOutputs()];
  try {
    return readStackPlace(stack, { config, outputs, statusUrl });
  } catch (error) {
    throw new Refused((error as Error).message);
  }
}

const question = { question: "Upgrade the node now? [y/N] ", refused: "upgrade: nothing was changed" } as const;

/**
 * Checks, shows and asks; returns the record of what is to be done, or the exit status where nothing is.
 *
 * @throws {Refused} where it can't be done.
 */
export async function beginUpgrade(
  options: BeginOptions,
  dependencies: BeginDependencies,
): Promise<StackRecord | number> {
  const { directory, configFile, dryRun, yes } = options;
  const { output, clock, signal } = dependencies;
  const limits = { ...defaultLimits, ...options.limits };
  const shown = await lookAt(options, dependencies);
  output.out(formatStackPlan(shown.place, shown.to, shown.check, limits));
  let agreed = requireReady(shown);
  if (dryRun) return exitStatus.clean;
  if (!(await isAgreedTo(question, options, output))) return exitStatus.error;
  if (!yes) {
    // Hours may have passed before the answer.
    const now = await lookAt(options, dependencies);
    if (!isDeepStrictEqual(planOf(now), planOf(shown))) {
      output.out(formatStackPlan(now.place, now.to, now.check, limits));
      throw new Refused("since you were asked it became what is shown above; nothing was changed: say it again");
    }
    agreed = requireReady(now);
  }
  if (signal.aborted) throw new Refused("it was ended by a signal; nothing was changed");
  const nowMs = clock.wallMs();
  return {
    ...agreed,
    directory,
    configFile,
    backend: await dependencies.pulumi.readBackend(),
    id: formatWorkId(nowMs),
    limits,
    ...createFirstStage(nowMs),
    configured: false,
  };
}

type Look = Readonly<{ place: StackPlace; to: UpgradeSide; check: StackCheck }>;

async function lookAt(options: BeginOptions, dependencies: BeginDependencies): Promise<Look> {
  const { requested } = options;
  const { pulumi, engine: findEngine, questions, pause, signal } = dependencies;
  const place = await findStack(options, dependencies);
  const to = decideNewSide(place, requested);
  if (to === undefined) throw new Refused(`the tag of ${requested.image} reports no version; say it by --node-version`);
  const engine = findEngine(place.engine);
  if (engine === undefined) {
    throw new Refused(`the stack's engine is at ${place.engine}; run this on the machine where that engine is`);
  }
  return {
    place,
    to,
    check: await checkStack(place, to, { pulumi, engine, questions: questions(place), pause, signal }),
  };
}

function requireReady({ place, to, check }: Look) {
  const { before, toolImage, problems } = check;
  if (problems.length === 0 && before !== undefined && toolImage !== undefined) {
    return { ...place, to, before, toolImage };
  }
  throw new Refused("it can't be done now, for the reasons above; nothing was changed");
}

/** What a person agrees to. The chain goes on meanwhile: heights and sizes are others each time. */
function planOf({ place, to, check: { toolImage, problems, warnings, clones } }: Look) {
  return { place, to, toolImage, problems, warnings, clones };
}
