import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { reportFailedLook, type WatchedLook } from "#status/failed-look.ts";
import type { ConditionReport } from "#status/condition.ts";
import { followGroups, judgePushes, listOwnGroups, type FollowedGroups, type PushIdentity } from "./judge-pushes.ts";
import { readPushGroups, type PushgatewayOptions } from "./push-groups.ts";

export type PushWatchOptions = PushgatewayOptions & Readonly<{ staleAfterMs: number; signal: AbortSignal }>;

export type PushWatchDependencies = Readonly<{
  /** Undefined while pushing is not configured, "unknown" while nobody can tell. */
  identity: () => PushIdentity | "unknown" | undefined;
  board: ConditionBoard;
  clock: Clock;
  send: SendRequest;
  log: Logger;
}>;

/** One look at the Pushgateway. `unreachable`: it could not be reached; `missing`: it has no group of the node. */
export type PushLook = Readonly<
  { state: "notPushing" | "unreachable" | "missing" } | { state: "pushed"; lastPushSeconds: number }
>;

/** The node's metrics under watch. */
export type PushWatch = Readonly<{
  /** Reads now when the node last pushed (seconds since 1970). */
  lastPush: (signal: AbortSignal) => Promise<PushLook>;
  done: Promise<void>;
}>;

const watchedLook: WatchedLook = { what: "The look at the Pushgateway", types: ["MetricsArriving"] };

/**
 * Looks at the Pushgateway again and again: that the node's group is there and fresh is the only proof that metrics arrive,
 * because a node with keys of another version says nothing (specification, "Errors").
 */
export function watchPushes(options: PushWatchOptions, dependencies: PushWatchDependencies): PushWatch {
  const { identity, board, log } = dependencies;
  let followed: FollowedGroups = new Map();
  const say = (report: ConditionReport<"MetricsArriving">) => void board.set(report);

  const look = async (signal: AbortSignal): Promise<PushLook> => {
    const pushes = identity();
    if (pushes === undefined || pushes === "unknown") {
      say(pushes === undefined ? notPushing : identityUnknown);
      return { state: "notPushing" };
    }
    const found = await readPushGroups(options, signal, dependencies);
    if (signal.aborted) return { state: "unreachable" };
    if (!found.ok) {
      say({
        type: "MetricsArriving",
        status: "False",
        reason: "PushgatewayUnreachable",
        message: found.message,
      });
      return { state: "unreachable" };
    }
    const own = listOwnGroups(found.groups, pushes);
    const { clock } = dependencies;
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    followed = followGroups(followed, own, now, { ...pushes, ...options });
    say(judgePushes(pushes, followed, now));
    const times = own.flatMap(({ pushTimeSeconds }) => pushTimeSeconds ?? []);
    return times.length === 0 ? { state: "missing" } : { state: "pushed", lastPushSeconds: Math.max(...times) };
  };

  let intervalSeconds = unknownIntervalSeconds;
  const lookAndTime = async (signal: AbortSignal) => {
    const pushes = identity();
    intervalSeconds = typeof pushes === "object" ? pushes.intervalSeconds : unknownIntervalSeconds;
    await look(signal);
  };
  const done = poll(
    {
      name: "pushgateway",
      failed: (error) => reportFailedLook(watchedLook, error, board),
      intervalMs: () => (intervalSeconds * 1_000) / looksPerInterval,
      signal: options.signal,
    },
    lookAndTime,
    { log },
  );
  return { lastPush: look, done };
}

/** Interval that is assumed until the node's own is known. */
const unknownIntervalSeconds = 10;

/** Often enough to tell two pushes within an interval apart. */
const looksPerInterval = 4;

const notPushing: ConditionReport<"MetricsArriving"> = {
  type: "MetricsArriving",
  status: "Unknown",
  reason: "NotPushing",
  message: "The node is not configured to push metrics.",
};

const identityUnknown: ConditionReport<"MetricsArriving"> = {
  type: "MetricsArriving",
  status: "Unknown",
  reason: "IdentityUnknown",
  message:
    "What the node pushes its metrics as is not known: node.conf could not be read yet, or the node's version is not known (ConfigValid, VersionConsistent).",
};
