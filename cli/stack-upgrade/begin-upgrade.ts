import { isDeepStrictEqual } from "node:util";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { isConfirmed, type Confirmation } from "#sidecar/upkeep/control/control-options.ts";
import { createFirstStage, formatWorkId, UpgradeError } from "#sidecar/upgrade/progress.ts";
import { checkStack, type StackCheck } from "./check-stack.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import { defaultLimits, type StackLimits, type StackRecord } from "./stack-record.ts";
import { chooseTargetSide, readDeployedStack, type RequestedVersion, type DeployedStack } from "./deployed-stack.ts";
import { formatStackPlan } from "./stack-plan.ts";
import type { StackTask } from "./stack-platform.ts";

export type StackUpgradeOptions = Readonly<{
  stack: string;
  directory: string;
  /** The stack's configuration file, absolute; default: the one with which the upgrade was begun, or else Pulumi's own. */
  configFile: string | undefined;
  /** Version to install; undefined to continue the upgrade in progress. */
  requested: RequestedVersion | undefined;
  statusUrl: string | undefined;
  limits: Partial<StackLimits>;
  /** Directory of the locks shared by this user's programs. */
  stateDirectory: string;
  dryRun: boolean;
}> &
  Pick<Confirmation, "yes" | "confirm">;

type FindDependencies = Readonly<{
  pulumi: Pick<PulumiCli, "readConfig" | "readOutputs">;
  /** The kubeconfig's current context; undefined if it has none. */
  currentContext: () => Promise<string | undefined>;
}>;

export async function findStack(
  { stack, statusUrl }: Pick<StackUpgradeOptions, "stack" | "statusUrl">,
  { pulumi, currentContext }: FindDependencies,
): Promise<DeployedStack> {
  const [config, outputs] = [await pulumi.readConfig(), await pulumi.readOutputs()];
  const deployedStack = readDeployedStack(stack, { config, outputs, statusUrl });
  const { target } = deployedStack;
  if (target.kind === "docker" || target.context !== undefined) return deployedStack;
  // The current context may differ when the upgrade is resumed.
  return { ...deployedStack, target: { ...target, context: await currentContext() } };
}

const question = { question: "Upgrade the node now? [y/N] ", rejected: "upgrade: nothing was changed" } as const;

/** Shows the plan and asks for confirmation; returns the upgrade's record, or the exit status if no upgrade starts. */
export async function beginUpgrade(
  deployedStack: DeployedStack,
  options: StackUpgradeOptions & Readonly<{ configFile: string; requested: RequestedVersion }>,
  work: StackTask & FindDependencies & Readonly<{ output: CommandOutput }>,
): Promise<StackRecord | number> {
  const { directory, configFile, requested, dryRun, yes } = options;
  const { output, clock, signal, platform, pulumi } = work;
  const limits = { ...defaultLimits, ...options.limits };
  const to = chooseTargetSide(deployedStack, requested);
  const show = (found: StackCheck) =>
    output.out(`${deployedStack.stack}: ${formatStackPlan(deployedStack, to, platform, found, limits)}`);
  let found = await checkStack(deployedStack, to, work);
  show(found);
  let ready = requireReady(found);
  if (dryRun) return exitStatus.clean;
  if (!(await isConfirmed(question, options, output))) return exitStatus.error;
  if (!yes) {
    // The confirmation may have taken hours.
    if (!isDeepStrictEqual(await findStack(options, work), deployedStack)) {
      throw new UpgradeError("the stack changed while you confirmed the plan; nothing was done. Run the command again");
    }
    found = await checkStack(deployedStack, to, work);
    if (found.problems.length > 0) show(found);
    ready = requireReady(found);
  }
  if (signal.aborted) throw new UpgradeError("it was stopped by a signal; nothing was changed");
  const nowMs = clock.wallMs();
  const backend = await pulumi.readBackend();
  const first = { ...createFirstStage(nowMs), id: formatWorkId(nowMs) };
  return { ...deployedStack, ...ready, to, directory, configFile, backend, limits, ...first };
}

function requireReady({ before, toolImage, problems }: StackCheck): Pick<StackRecord, "before" | "toolImage"> {
  if (problems.length === 0 && before !== undefined && toolImage !== undefined) return { before, toolImage };
  throw new UpgradeError("the upgrade is not possible now, for the reasons above; nothing was changed");
}
