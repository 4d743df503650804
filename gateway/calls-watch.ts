import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { reportFailedLook, type WatchedLook } from "#status/failed-look.ts";
import type { ConditionReport } from "#status/condition.ts";
import { CallHistory, recentMs, type RecentCalls } from "./observe/recent-calls.ts";
import type { Traffic } from "./observe/traffic.ts";

/** Time between two looks. */
const intervalMs = 2_000;

/** So few calls within the time say nothing, unless they fail. */
const fewCalls = 20;
/** From so many failures on, and from such a share of the calls, callers notice. */
const noticedFailures = 10;
const noticedShare = 0.05;
/** Below this share what was wrong is right again: in between it stays what it was. */
const settledShare = 0.01;
/** Methods that a message names, those with the most failures first. */
const namedMethods = 3;

export type CallsWatchDependencies = Readonly<{
  /** The calls since the start. */
  traffic: () => Promise<Traffic>;
  /** Whether the gateway serves and its node answers: other conditions say so where not, and callers are refused. */
  isServing: () => boolean;
  board: ConditionBoard;
  clock: Clock;
  log: Pick<Logger, "error">;
  signal: AbortSignal;
}>;

const watchedLook: WatchedLook = { what: "The count of calls and failures", types: ["CallsAnswered"] };

/** Sets `CallsAnswered` by what became of the calls of the last minute; ends with the signal. */
export async function watchCalls({
  traffic,
  isServing,
  board,
  clock,
  log,
  signal,
}: CallsWatchDependencies): Promise<void> {
  const history = new CallHistory();
  const failed = (error: unknown) => {
    history.clear();
    reportFailedLook(watchedLook, error, board);
  };
  await poll(
    { name: "calls", failed, intervalMs, signal },
    async () => {
      if (!isServing()) {
        history.clear();
        board.set(notJudged);
        return;
      }
      const recent = history.add(await traffic(), clock.monotonicMs());
      board.set(deriveCallsCondition(recent, board.get("CallsAnswered")?.status === "False"));
    },
    { log },
  );
}

/** What callers are refused meanwhile is not a separate failure. */
const notJudged: ConditionReport<"CallsAnswered"> = {
  type: "CallsAnswered",
  status: "Unknown",
  reason: "NotServing",
  message:
    "Calls are not judged while the gateway does not serve (GatewayServing), or the node does not answer (RpcAnswering).",
};

/**
 * Says whether callers get what they call for, by the calls of the last minute. The node's health checks may be answered while its reads
 * fail, and a gateway that serves may have no room: neither shows in what is watched otherwise.
 *
 * @param wasWrong whether the condition was False at the last look.
 */
export function deriveCallsCondition(recent: RecentCalls, wasWrong: boolean): ConditionReport<"CallsAnswered"> {
  const type = "CallsAnswered";
  const failures = [...recent.failed.values()].reduce((sum, count) => sum + count, 0);
  const lost = failures + recent.shed;
  const share = recent.calls === 0 ? 0 : lost / recent.calls;
  const seconds = recentMs / 1_000;
  const isWrong = lost >= noticedFailures && share >= (wasWrong ? settledShare : noticedShare);
  if (isWrong && failures >= recent.shed) {
    return {
      type,
      status: "False",
      reason: "NodeFails",
      message: `${failures} of ${recent.calls} calls of the last ${seconds} s got no answer from the node (${nameMost(recent.failed)}), although it answers health checks. Send such a call to the node itself, and read its log.`,
    };
  }
  if (isWrong) {
    return {
      type,
      status: "False",
      reason: "Shed",
      message: `${recent.shed} of ${recent.calls} calls of the last ${seconds} s were turned away: there is no room for them. See whether this process lacks CPU (GatewayResponsive), and whether the node is slow (gatehouse_gateway_node_duration_seconds).`,
    };
  }
  if (recent.calls < fewCalls) {
    const message = `Hardly anybody calls: ${recent.calls} calls within the last ${seconds} s.`;
    return { type, status: "Unknown", reason: "TooFewCalls", message };
  }
  const answered = `${recent.calls - lost} of ${recent.calls}`;
  return {
    type,
    status: "True",
    reason: "Answered",
    message: `${answered} calls of the last ${seconds} s were answered.`,
  };
}

function nameMost(failed: ReadonlyMap<string, number>): string {
  const byCount = [...failed].sort(([, one], [, other]) => other - one);
  const named = byCount.slice(0, namedMethods).map(([method, count]) => `${method} ${count}`);
  return [...named, ...(byCount.length > namedMethods ? ["…"] : [])].join(", ");
}
