import { authorityOf } from "./authority.ts";
import type { PlanView } from "../plan/plan-view.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

const adoptedBy = {
  command: "gatehouse adopt",
  setting: "upkeep.mode was enforce then",
  "earlier version": "it acted before",
} as const;

/** Says whether the sidecar may act on this node; one that waits shows its plan, and says how it is let go. */
export function setAdoptedCondition(shown: PlanView, memory: UpkeepMemory, parts: UpkeepParts): void {
  const { board, settings, state, log, command } = parts;
  const before = memory.plan;
  memory.plan = shown;
  const type = "Adopted";
  const authority = authorityOf(settings.upkeep.mode, state);
  if (authority === "observes") {
    const message = "upkeep.mode is observe: the sidecar changes nothing.";
    return board.set({ type, status: "True", reason: "Observing", message });
  }
  if (authority === "acts") {
    const adopted = state.adopted.get();
    const since = adopted === undefined ? "" : ` since ${new Date(adopted.atMs).toISOString()}`;
    const message =
      settings.upkeep.mode === "enforce"
        ? "upkeep.mode is enforce: the sidecar acts by itself."
        : `The sidecar acts on this node${since} (${adopted === undefined ? "adopted" : adoptedBy[adopted.by]}).`;
    return board.set({ type, status: "True", reason: "Adopted", message });
  }
  const plan = planWords(shown);
  const message = `The sidecar has changed nothing yet, and waits for your word. ${plan} To let it act, run \`${command("adopt")}\`.`;
  board.set({ type, status: "False", reason: "WaitingForAdopt", message });
  if (before !== undefined && before.digest !== shown.digest)
    log.info({ plan: shown }, `the plan is another now. ${plan}`);
}

/** A plan in one paragraph. */
function planWords({ steps, problems }: PlanView): string {
  const open =
    problems.length === 0
      ? ""
      : ` Not planned yet: ${problems.map((problem) => problem.replace(/\.$/, "")).join("; ")}.`;
  if (steps.length === 0) return `Its plan: nothing to change now.${open}`;
  return `Its plan: ${steps.map((step, index) => `${index + 1}. ${step}`).join("; ")}.${open}`;
}
