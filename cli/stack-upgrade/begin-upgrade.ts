import { isDeepStrictEqual } from "node:util";
import type { Clock } from "#daemon/clock.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Pause } from "#daemon/time.ts";
import { isAgreedTo, type Agreement } from "#sidecar/upkeep/control/agreement.ts";
import { createFirstStage, formatWorkId } from "#sidecar/upgrade/next-stage.ts";
import { checkStack, type StackCheck } from "./check-stack.ts";
import type { StackQueries } from "./node-status.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import { Refused, defaultLimits, type StackLimits, type StackRecord, type UpgradeSide } from "./stack-record.ts";
import { decideNewSide, readDeployedStack, type RequestedVersion, type DeployedStack } from "./deployed-stack.ts";
import { formatStackPlan } from "./stack-plan.ts";
import type { StackPlatform } from "./stack-platform.ts";
import type { StackTarget } from "./stack-target.ts";

/** The requested upgrade of one stack, and how the operator confirms it. */
export type BeginOptions = Readonly<{
  stack: string;
  /** Absolute path. */
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
  /** Creates the platform for a stack's target. @throws {Refused} if it can't be reached from here. */
  platform: (target: StackTarget) => StackPlatform;
  queries: (target: StackTarget) => StackQueries;
  /** The kubeconfig's current context; undefined if it has none. */
  currentContext: () => Promise<string | undefined>;
  clock: Pick<Clock, "wallMs">;
  pause: Pause;
  signal: AbortSignal;
}>;

/**
 * Reads a stack's location from its configuration and outputs.
 *
 * @throws {Refused} for a stack that this command can't upgrade.
 */
export async function findStack(
  { stack, statusUrl }: Pick<BeginOptions, "stack" | "statusUrl">,
  { pulumi, currentContext }: Pick<BeginDependencies, "pulumi" | "currentContext">,
): Promise<DeployedStack> {
  const [config, outputs] = [await pulumi.readConfig(), await pulumi.readOutputs()];
  const place = readPlace();
  const { target } = place;
  if (target.kind === "docker" || target.context !== undefined) return place;
  // The current context may differ when the upgrade is resumed.
  const context = await currentContext();
  return context === undefined ? place : { ...place, target: { ...target, context } };

  function readPlace(): DeployedStack {
    try {
      return readDeployedStack(stack, { config, outputs, statusUrl });
    } catch (error) {
      throw new Refused((error as Error).message);
    }
  }
}

const question = { question: "Upgrade the node now? [y/N] ", refused: "upgrade: nothing was changed" } as const;

/**
 * Checks the stack, shows the plan and asks for confirmation; returns the upgrade record, or the exit status if no upgrade starts.
 *
 * @throws {Refused} if it can't be done.
 */
export async function beginUpgrade(
  options: BeginOptions,
  dependencies: BeginDependencies,
): Promise<StackRecord | number> {
  const { directory, configFile, dryRun, yes } = options;
  const { output, clock, signal } = dependencies;
  const limits = { ...defaultLimits, ...options.limits };
  const look = async () => {
    const found = await checkPlan(await findStack(options, dependencies), options, dependencies);
    const show = () => output.out(`${options.stack}: ${formatStackPlan(found.place, found.to, found.check, limits)}`);
    return { found, show };
  };
  const { found: shown, show } = await look();
  show();
  let ready = requireReady(shown);
  if (dryRun) return exitStatus.clean;
  if (!(await isAgreedTo(question, options, output))) return exitStatus.error;
  if (!yes) {
    // The confirmation may have taken hours.
    const now = await look();
    if (!isStillAgreed(now.found, readAgreedPlan(shown))) {
      now.show();
      throw new Refused("the plan changed while you confirmed it (shown above); nothing was done. Confirm again");
    }
    ready = requireReady(now.found);
  }
  if (signal.aborted) throw new Refused("it was ended by a signal; nothing was changed");
  const nowMs = clock.wallMs();
  return {
    ...ready,
    directory,
    configFile,
    backend: await dependencies.pulumi.readBackend(),
    id: formatWorkId(nowMs),
    limits,
    ...createFirstStage(nowMs),
    configured: false,
  };
}

/** A stack as found, and its configuration after the upgrade. */
type CheckedStack = Readonly<{ place: DeployedStack; to: UpgradeSide; check: StackCheck }>;

/**
 * Checks whether a stack could be upgraded now. Read-only.
 *
 * @throws {Refused} if the new version is unknown, or the stack can't be reached from here.
 */
async function checkPlan(
  place: DeployedStack,
  { requested }: Pick<BeginOptions, "requested">,
  { pulumi, platform, queries, pause, signal }: Omit<BeginDependencies, "output" | "clock" | "currentContext">,
): Promise<CheckedStack> {
  const to = decideNewSide(place, requested);
  if (to === undefined) throw new Refused(`the tag of ${requested.image} reports no version; say it by --node-version`);
  const { target } = place;
  const work = { pulumi, platform: platform(target), queries: queries(target), pause, signal };
  const check = await checkStack(place, to, work);
  return { place, to, check };
}

type ReadyStack = DeployedStack & Pick<StackRecord, "to" | "before" | "toolImage">;

function requireReady({ place, to, check }: CheckedStack): ReadyStack {
  const { before, toolImage, problems } = check;
  if (problems.length === 0 && before !== undefined && toolImage !== undefined) {
    return { ...place, to, before, toolImage };
  }
  throw new Refused("it can't be done now, for the reasons above; nothing was changed");
}

/** Extracts the part of a check that the operator confirms, without heights and sizes, which change as the chain advances. Pure. */
function readAgreedPlan({ place, to, check: { toolImage, problems, warnings, clones } }: CheckedStack) {
  return { place, to, toolImage, problems, warnings, clones };
}

/** Returns whether a check still matches the confirmed plan. A warning may have disappeared, e.g. about an image that wasn't pulled yet. */
function isStillAgreed(look: CheckedStack, agreed: AgreedStackPlan): boolean {
  const now = readAgreedPlan(look);
  const isKnown = now.warnings.every((warning) => agreed.warnings.includes(warning));
  return isKnown && isDeepStrictEqual({ ...now, warnings: agreed.warnings }, agreed);
}

type AgreedStackPlan = ReturnType<typeof readAgreedPlan>;
