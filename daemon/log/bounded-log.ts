import type { LogEvent } from "./events/all-events.ts";
import type { EventFacts, Logger } from "./log.ts";

/** Lines of one kind that are written within a time; those beyond are counted. */
export type LineBound = Readonly<{ lines: number; everyMs: number }>;

/** Writes lines that clients cause: a message is one of a few constants, and the facts distinguish one line of it from another. */
export type BoundedLog = Readonly<{
  [Level in "info" | "warn" | "error"]: (facts: EventFacts<LogEvent<Level>>, message: string) => void;
}>;

/** Enough to see what happens and to whom: two lines a second, some 50 MB a day, however many clients cause them. */
export const defaultBound: LineBound = { lines: 20, everyMs: 10_000 };

/**
 * Bounds the lines that clients can cause, or whoever sends enough of the right requests fills the disk. Of each message so many lines are
 * written in a time; then one more line says how many there were besides (`omitted`, in the last `withinMs`). A process that ends does not
 * report the last of them; metrics count each.
 */
export function createBoundedLog(log: Logger, bound: LineBound = defaultBound): BoundedLog {
  const byMessage = new Map<string, (write: () => void) => void>();
  const at =
    <Name extends LogEvent>(report: (facts: EventFacts<Name>, message: string) => void) =>
    (facts: EventFacts<Name>, message: string) => {
      const { event } = facts;
      const lines =
        byMessage.get(message) ??
        boundLines(bound, (omitted) => {
          const left = { event, omitted, withinMs: bound.everyMs };
          report(left, `${message}: more of these were left out`);
        });
      byMessage.set(message, lines);
      lines(() => report(facts, message));
    };
  return {
    info: at<LogEvent<"info">>((facts, message) => log.info(facts, message)),
    warn: at<LogEvent<"warn">>((facts, message) => log.warn(facts, message)),
    error: at<LogEvent<"error">>((facts, message) => log.error(facts, message)),
  };
}

/** For lines about money that moved: more than are settled in any such time, since each should stand in the log. */
export const boundOfSales: LineBound = { lines: 1_000, everyMs: 10_000 };

/** Bounds lines of one kind that are written by something else than a log. */
export function boundLines(
  { lines, everyMs }: LineBound,
  report: (omitted: number) => void,
): (write: () => void) => void {
  const state = { written: 0, omitted: 0 };
  const begin = () => {
    setTimeout(() => {
      const { omitted } = state;
      Object.assign(state, { written: 0, omitted: 0 });
      if (omitted > 0) report(omitted);
    }, everyMs).unref();
  };
  return (write) => {
    if (state.written === 0) begin();
    if (state.written < lines) {
      state.written += 1;
      write();
    } else state.omitted += 1;
  };
}
