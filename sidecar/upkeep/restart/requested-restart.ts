import type { Clock } from "#daemon/clock.ts";
import type { EventLog } from "#status/event-log.ts";
import { isBetweenVersions, type Authority } from "../adoption/authority.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { DueRestart } from "./restart-decision.ts";

/** How long a person's word counts: a restart much later would surprise whoever has repaired the node meanwhile. */
const countsForMs = 600_000;

/** The result of a request: `asked` the node is restarted, or why it is not. */
export const restartRequestResults = ["asked", "busy", "held", "waits", "observes", "no-driver"] as const;
export type RestartRequestResult = (typeof restartRequestResults)[number];

/** What a request for a restart reads and writes. */
export type RequestRestartDependencies = Readonly<{
  state: Pick<UpkeepState, "requestedRestart" | "hold" | "upgrade">;
  events: EventLog;
  clock: Pick<Clock, "wallMs">;
}>;

/** Notes that a person wants the node restarted, unless that can't be done now. */
export function requestRestart(
  {
    authority,
    isRestarting,
    canRestart,
  }: Readonly<{ authority: Authority; isRestarting: boolean; canRestart: boolean }>,
  { state, events, clock }: RequestRestartDependencies,
): RestartRequestResult {
  if (authority !== "acts") return authority;
  if (!canRestart) return "no-driver";
  if (isRestarting || isBetweenVersions(state)) return "busy";
  if (state.hold.get() !== undefined) return "held";
  const said = { by: "gatehouse restart", outcome: "unknown" } as const;
  events.add("restart", "A person requested a restart of the node.", undefined, said);
  state.requestedRestart.set({ atMs: clock.wallMs() });
  return "asked";
}

/** The restart that a person requested, while that word counts. No storm that the budget has to end. */
export function findRequestedRestart({
  state,
  clock,
  events,
}: Readonly<{ state: Pick<UpkeepState, "requestedRestart">; clock: Pick<Clock, "wallMs">; events: EventLog }>):
  | DueRestart
  | undefined {
  const requested = state.requestedRestart.get();
  if (requested === undefined) return undefined;
  const ageMs = clock.wallMs() - requested.atMs;
  if (ageMs >= 0 && ageMs <= countsForMs) {
    return { cause: "asked", reason: "a person requested it", urgent: true, isCharged: true };
  }
  events.add(
    "restart",
    "The restart that a person requested could not begin within 10 minutes, and is not made any more.",
    undefined,
    { by: "sidecar", outcome: "failure" },
  );
  state.requestedRestart.set(undefined);
  return undefined;
}
