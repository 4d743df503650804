import { isBetweenVersions } from "../adoption/authority.ts";
import type { RestartContext } from "./restart-context.ts";
import type { DueRestart } from "./restart-decision.ts";

/** Lifetime of an operator's request: a much later restart would surprise an operator who has since repaired the node. */
const countsForMs = 600_000;

/** Results of a request: `requested` if the node will be restarted, otherwise the reason why it won't. */
export const restartRequestResults = ["requested", "busy", "paused", "waits", "observes", "no-driver"] as const;
export type RestartRequestResult = (typeof restartRequestResults)[number];

export function requestRestart(
  { authority, isRestarting, driver, state, events, clock }: RestartContext,
  by: string,
): RestartRequestResult {
  const permissions = authority();
  if (permissions !== "acts") return permissions;
  if (driver === undefined) return "no-driver";
  if (isRestarting() || isBetweenVersions(state)) return "busy";
  if (state.hold.get() !== undefined) return "paused";
  events.add("restart", "An operator requested a restart of the node.", undefined, { by, outcome: "unknown" });
  state.requestedRestart.set({ atMs: clock.wallMs() });
  return "requested";
}

/** Finds the operator's restart request until it expires. The restart isn't charged to the budget, because an operator causes no restart storm. */
export function findRequestedRestart({ state, clock, events }: RestartContext): DueRestart | undefined {
  const requestedRestart = state.requestedRestart.get();
  if (requestedRestart === undefined) return undefined;
  const ageMs = clock.wallMs() - requestedRestart.atMs;
  if (ageMs >= 0 && ageMs <= countsForMs) {
    return { cause: "requested", reason: "an operator requested it", urgent: true, isCharged: true };
  }
  events.add("restart", "The requested restart could not start within 10 minutes and was cancelled.", undefined, {
    by: "sidecar",
    outcome: "failure",
  });
  state.requestedRestart.set(undefined);
  return undefined;
}
