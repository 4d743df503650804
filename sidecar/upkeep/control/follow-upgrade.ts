import { pause } from "#daemon/time.ts";
import { ControlError, requestView, type ControlTarget } from "./request-control.ts";
import type { ControlView, UpgradeResponse } from "./control-responses.ts";

const checkAgainMs = 1_000;

/** Time for which the sidecar may be unreachable during an upgrade: after a restart, it continues the upgrade. */
const unreachableMsMax = 120_000;

export type ShownUpgrade = NonNullable<ControlView["upgrade"]>;

/** @throws {ControlError} when the sidecar is unreachable for too long, or doesn't know about the upgrade. */
export async function followUpgrade(
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

export function formatPlan({ plan, node }: UpgradeResponse): string {
  const { from = "an unknown version", to = "an unknown version", steps, problems, warnings } = plan;
  const lines = [
    `${node.words}: from ${from} to ${to}.`,
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ...warnings.map((warning) => `  warning: ${warning}`),
    ...problems.map((problem) => `  problem: ${problem}`),
  ];
  return `${lines.join("\n")}\n`;
}
