import { hash } from "node:crypto";
import { z } from "zod";
import type { PruneInfo } from "#node/prune-info.ts";
import { describeChange } from "#node/conf/monitor-change.ts";
import type { Plan, PlanAction } from "./plan.ts";

export const planView = z
  .object({
    steps: z.array(z.string()).readonly(),
    /** Changes that can't be planned, each with the reason, and missing prerequisites of the steps. */
    problems: z.array(z.string()).readonly(),
    /** Identifies this plan, so that only the plan that was shown is executed. */
    digest: z.string(),
  })
  .readonly();

export type PlanView = z.output<typeof planView>;

const forGood =
  "this can't be undone, and old state is deleted; to keep an archive, set GATEHOUSE_SIDECAR_PRUNE_ENABLED=false first";

type Means = Readonly<{
  prunes: boolean;
  restarts: boolean;
  missing?: readonly string[];
}>;

/** Describes a plan, irreversible steps first; `pruneInfo` is undefined while unknown. Pure. */
export function createPlanView(
  planned: Plan,
  pruneInfo: PruneInfo | undefined,
  { prunes, restarts, missing = [] }: Means,
): PlanView {
  const later = `auto-pruning is enabled once node_cli reports that it is off, which is unknown now; ${forGood}`;
  const [permanent, temporary] = [true, false].map((isForGood) =>
    planned.actions
      .filter(({ kind }) => (kind === "enable-auto-prune") === isForGood)
      .flatMap((action) => listActionSteps(action, restarts)),
  );
  const steps = [...(permanent ?? []), ...(pruneInfo === undefined && prunes ? [later] : []), ...(temporary ?? [])];
  const problems = [...missing, ...planned.problems.map(({ message }) => message)];
  const digest = hash("sha256", JSON.stringify([steps, problems])).slice(0, 16);
  return { steps, problems, digest };
}

function listActionSteps(action: PlanAction, restarts: boolean): readonly string[] {
  switch (action.kind) {
    case "write-config": {
      const warning = action.warning === undefined ? [] : [`node.conf: ${action.warning}`];
      return [...action.changes.map((change) => `node.conf: ${describeChange(change)}`), ...warning];
    }
    case "enable-auto-prune":
      return [`auto-pruning is enabled (${action.reason}); ${forGood}`];
    case "restart":
      return [
        restarts
          ? `the node is restarted (${action.reason})`
          : `the node must be restarted manually, because restart.driver is none (${action.reason})`,
      ];
  }
}
