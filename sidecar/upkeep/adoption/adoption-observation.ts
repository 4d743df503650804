import type { Logger } from "#daemon/log/log.ts";
import type { Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { CommandText } from "../command-text.ts";
import type { PlanView } from "../plan/plan-view.ts";
import type { Adoption, UpkeepState } from "../state/upkeep-state.ts";
import type { Permissions } from "./authority.ts";

export type AdoptionState = Readonly<{
  plan?: PlanView | undefined;
  authority?: Permissions | undefined;
  adopted?: Adoption | undefined;
}>;

type AdoptionContext = Readonly<{
  adoption: Observation<AdoptionState>;
  authority: () => Permissions;
  state: UpkeepState;
  log: Logger;
}>;

export function recordAdoption(plan: PlanView, { adoption, authority: decide, state, log }: AdoptionContext): void {
  const previousPlan = adoption.now().plan;
  const authority = decide();
  adoption.note({ plan, authority, adopted: state.adopted.get() });
  if (authority === "waits" && previousPlan !== undefined && previousPlan.digest !== plan.digest)
    log.info({ event: "plan-changed", plan }, `the plan has changed. ${describePlan(plan)}`);
}

const adoptedBy = {
  command: "gatehouse adopt",
  page: "on the status page",
  setting: "upkeep.mode was enforce",
  "earlier version": "it acted on this node before",
} as const;

/** Derives whether the sidecar may act: it isn't paused, and has the approval that it needs. Pure. */
export function derivePauseConditions(
  { plan, authority, adopted }: AdoptionState,
  { hold }: Readonly<{ hold?: "none" | Readonly<{ message: string }> | undefined }>,
  { mode, command }: PauseText,
): readonly ConditionReport<"NotPaused">[] {
  const type = "NotPaused";
  if (hold !== undefined && hold !== "none") {
    const message = `${hold.message} Fix the cause, then run \`${command("resume")}\`, or change the desired state.`;
    return [{ type, status: "False", reason: "Paused", message }];
  }
  if (plan === undefined || authority === undefined) return [];
  if (authority === "observes") {
    const message = "upkeep.mode is observe: the sidecar changes nothing.";
    return [{ type, status: "True", reason: "Observing", message }];
  }
  if (authority === "acts") {
    const manages =
      adopted === undefined
        ? "manages this node"
        : `has managed this node since ${new Date(adopted.atMs).toISOString()}`;
    const message =
      mode === "enforce"
        ? "upkeep.mode is enforce: the sidecar acts without approval."
        : `The sidecar ${manages} (${adopted === undefined ? "adopted" : adoptedBy[adopted.by]}).`;
    return [{ type, status: "True", reason: "NotPaused", message }];
  }
  const message = `The sidecar has changed nothing yet and is waiting for your approval. ${describePlan(plan)} To approve, run \`${command("adopt")}\`.`;
  return [{ type, status: "False", reason: "WaitingForApproval", message }];
}

type PauseText = Readonly<{ mode: SidecarSettings["upkeep"]["mode"]; command: CommandText }>;

function describePlan({ steps, problems }: PlanView): string {
  const open = problems.length === 0 ? "" : ` Not planned yet: ${problems.join(" ")}`;
  if (steps.length === 0) return `Plan: no changes.${open}`;
  return `Plan: ${steps.map((step, index) => `${index + 1}. ${step}`).join("; ")}.${open}`;
}
