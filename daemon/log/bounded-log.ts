import { KeyCounts } from "../fair-shares.ts";
import type { LogEvent } from "./events/all-events.ts";
import type { EventInfo, Logger } from "./log.ts";

/** Max lines of one kind per interval; further lines are only counted. */
export type LineLimit = Readonly<{ lines: number; everyMs: number }>;

/**
 * Writes log lines that clients trigger, at a limited rate. The message is one of a few constants; the facts distinguish lines with the
 * same message. If lines specify their caller, at most a quarter of them are about one caller, so that others' lines are written as well.
 */
export type BoundedLog = Readonly<{
  [Level in "info" | "warn" | "error"]: (facts: EventInfo<LogEvent<Level>>, message: string, caller?: string) => void;
}>;

/** Enough to see what is happening and to which clients: two lines a second, some 50 MB a day, regardless of the number of clients. */
export const defaultBound: LineLimit = { lines: 20, everyMs: 10_000 };

/**
 * Limits the lines that clients can cause, so that a client can't fill the disk by sending many requests that are logged. Writes a limited
 * number of lines per message and interval, then one more line with the number omitted (`omitted`, in the last `withinMs`). A process that
 * exits doesn't report its last omitted lines; metrics count them all.
 */
export function createBoundedLog(log: Logger, bound: LineLimit = defaultBound): BoundedLog {
  const byMessage = new Map<string, ReturnType<typeof limitLines>>();
  const at =
    <Name extends LogEvent>(report: (facts: EventInfo<Name>, message: string) => void) =>
    (facts: EventInfo<Name>, message: string, caller?: string) => {
      const { event } = facts;
      const lines =
        byMessage.get(message) ??
        limitLines(bound, (omitted) => {
          const left = { event, omitted, withinMs: bound.everyMs };
          report(left, `${message}: more like this were omitted`);
        });
      byMessage.set(message, lines);
      lines(() => report(facts, message), caller);
    };
  return {
    info: at<LogEvent<"info">>((facts, message) => log.info(facts, message)),
    warn: at<LogEvent<"warn">>((facts, message) => log.warn(facts, message)),
    error: at<LogEvent<"error">>((facts, message) => log.error(facts, message)),
  };
}

/** Limit of lines about settled payments. More payments can't settle in that time, so every one is logged. */
export const saleLineLimit: LineLimit = { lines: 1_000, everyMs: 10_000 };

/** Limits lines of one kind that are not written to a log. */
export function limitLines(
  { lines, everyMs }: LineLimit,
  report: (omitted: number) => void,
): (write: () => void, caller?: string) => void {
  const state = { written: 0, omitted: 0, byCaller: new KeyCounts() };
  const begin = () => {
    setTimeout(() => {
      const { omitted } = state;
      Object.assign(state, { written: 0, omitted: 0, byCaller: new KeyCounts() });
      if (omitted > 0) report(omitted);
    }, everyMs).unref();
  };
  return (write, caller) => {
    if (state.written === 0) begin();
    const isShareUsed = caller !== undefined && state.byCaller.get(caller) * 4 >= lines;
    if (state.written < lines && !isShareUsed) {
      state.written += 1;
      if (caller !== undefined) state.byCaller.increase(caller);
      write();
    } else state.omitted += 1;
  };
}
