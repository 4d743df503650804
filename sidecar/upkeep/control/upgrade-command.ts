import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { pause } from "#daemon/time.ts";
import {
  checkWithinMs,
  ControlError,
  requestControl,
  requestView,
  runControlCommand,
  type ControlTarget,
} from "./request-control.ts";
import { isConfirmed, type Confirmation } from "./control-options.ts";
import { upgradeResponse, type ControlView, type UpgradeResponse } from "./control-responses.ts";
import type { UpgradeRequest } from "../upgrade/requested-upgrade.ts";

const checkAgainMs = 1_000;

/** Time for which the sidecar may be unreachable during an upgrade: after a restart, it continues the upgrade. */
const unreachableMsMax = 120_000;

type ShownUpgrade = NonNullable<ControlView["upgrade"]>;

export type UpgradeOptions = Confirmation &
  Readonly<{
    /** Absolute path of the directory that contains the new programs, as seen by the sidecar. */
    source: string;
    version: string | undefined;
    dryRun: boolean;
  }>;

/**
 * Shows the plan of an upgrade, starts it once approved, and follows it. Returns 0 if the new version is verified or, in a dry run, if it
 * could start.
 */
export function runUpgradeCommand(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  return runControlCommand("upgrade", output, () => upgradeByRequest(target, options, output));
}

function requestPlan(
  target: ControlTarget,
  { source, version }: UpgradeOptions,
  digest?: string,
): Promise<UpgradeResponse> {
  const body: UpgradeRequest = { source, version, digest };
  return requestControl(target, { path: "/upgrade", body, schema: upgradeResponse, timeoutMs: checkWithinMs });
}

const question = { question: "Upgrade the node now? [y/N] ", rejected: "upgrade: nothing was changed" } as const;

/** With `--json`, prints only the sidecar's last response, with the outcome of the upgrade but without its steps. */
async function upgradeByRequest(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const { dryRun, yes, json = false } = options;
  const show = (response: UpgradeResponse, upgrade?: ShownUpgrade) =>
    output.out(json ? `${JSON.stringify({ ...response, upgrade })}\n` : formatPlan(response));
  const explain = (text: string) => json || output.error(`upgrade: ${text}\n`);
  const shown = await requestPlan(target, options);
  const isRejected = shown.result === "rejected";
  if (!json || isRejected || dryRun || !yes) show(shown);
  if (isRejected) explain("not possible now, for the reasons above; nothing was changed.");
  if (isRejected || dryRun) return isRejected ? exitStatus.error : exitStatus.clean;
  if (json ? !yes : !(await isConfirmed(question, options, output))) return exitStatus.error;
  const begun = await requestPlan(target, options, shown.plan.digest);
  if (begun.beganMs === undefined) {
    explain("the plan has changed or is no longer possible; nothing was changed. The new plan:");
    show(begun);
    return exitStatus.error;
  }
  try {
    const upgrade = await followUpgrade(target, begun.beganMs, json ? output.error : output.out);
    if (json) show(begun, upgrade);
    return upgrade.end === "committed" ? exitStatus.clean : exitStatus.error;
  } catch (error) {
    // The upgrade continues even if this command fails, so the calling program must learn that it has started.
    if (json && error instanceof ControlError) show(begun);
    throw error;
  }
}

/** @throws {ControlError} when the sidecar is unreachable for too long, or doesn't know about the upgrade. */
async function followUpgrade(
  target: ControlTarget,
  beganMs: number,
  say: (text: string) => void,
): Promise<ShownUpgrade> {
  say("Started. The sidecar runs it; stopping this command does not stop it.\n");
  let stage: string | undefined;
  let seenMs = performance.now();
  for (;;) {
    try {
      const { upgrade } = await requestView(target);
      if (upgrade?.beganMs !== beganMs)
        throw new ControlError("the sidecar no longer has this upgrade; check its status page and log.");
      seenMs = performance.now();
      if (upgrade.stage !== stage || upgrade.end !== undefined) say(`${upgrade.words}\n`);
      ({ stage } = upgrade);
      if (upgrade.end !== undefined) return upgrade;
    } catch (error) {
      if (!(error instanceof ControlError) || performance.now() - seenMs >= unreachableMsMax) throw error;
    }
    await pause(checkAgainMs);
  }
}

function formatPlan({ plan, node }: UpgradeResponse): string {
  const { from = "an unknown version", to = "an unknown version", steps, problems, warnings } = plan;
  const lines = [
    `${node.words}: from ${from} to ${to}.`,
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ...warnings.map((warning) => `  warning: ${warning}`),
    ...problems.map((problem) => `  problem: ${problem}`),
  ];
  return `${lines.join("\n")}\n`;
}
