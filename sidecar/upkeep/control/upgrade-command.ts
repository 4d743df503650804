import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import {
  checkWithinMs,
  ControlError,
  requestControl,
  runControlCommand,
  type ControlTarget,
} from "./request-control.ts";
import { isAgreedTo, type Agreement } from "./agreement.ts";
import { upgradeResponse, type UpgradeResponse } from "./control-responses.ts";
import type { UpgradeRequest } from "../upgrade/requested-upgrade.ts";
import { followUpgrade, formatPlan, type ShownUpgrade } from "./follow-upgrade.ts";

export type UpgradeOptions = Agreement &
  Readonly<{
    /** Absolute path of the directory that contains the new programs, as seen by the sidecar. */
    source: string;
    version: string | undefined;
    /** Whether to show the plan without executing it. */
    dryRun: boolean;
  }>;

/**
 * Shows a running sidecar's plan of an upgrade, starts it once the operator agrees, and follows it until it ends. Returns the exit status: 0
 * if the new version is verified (in a dry run: if the upgrade could start).
 */
export function runUpgradeCommand(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  return runControlCommand("upgrade", output, () => upgradeByRequest(target, options, output));
}

/** Requests the plan; with the plan's digest, starts the upgrade. */
function requestPlan(
  target: ControlTarget,
  { source, version }: UpgradeOptions,
  digest?: string,
): Promise<UpgradeResponse> {
  const body: UpgradeRequest = { source, version, digest };
  return requestControl(target, { path: "/upgrade", body, answer: upgradeResponse, timeoutMs: checkWithinMs });
}

const question = { question: "Upgrade the node now? [y/N] ", refused: "upgrade: nothing was changed" } as const;

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
  const isRefused = shown.result === "refused";
  if (!json || isRefused || dryRun || !yes) show(shown);
  if (isRefused) explain("not possible now, for the reasons above; nothing was changed.");
  if (isRefused || dryRun) return isRefused ? exitStatus.error : exitStatus.clean;
  if (json ? !yes : !(await isAgreedTo(question, options, output))) return exitStatus.error;
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
    // The upgrade continues even if this command fails, so the calling program must be told that it has started.
    if (json && error instanceof ControlError) show(begun);
    throw error;
  }
}
