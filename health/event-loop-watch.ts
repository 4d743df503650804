import { Counter, type Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";

/** Interval between two ticks; the delay is how late a tick runs. Ten ticks per second cost an idle process nothing measurable. */
const tickMs = 100;
const windowMs = 10_000;
/** Time for which a delay counts as recent. */
const recentMs = 500;

/** Event loop delays that callers notice. */
type DelayLimits = Readonly<{ loopDelayMs: number; loopDelayShare: number }>;

/** Monitor of the process's own event loop. */
export type EventLoopWatch = Disposable &
  Readonly<{
    /** Total lateness of the loop since the monitor started, including a delay in progress; never decreases. */
    lateMs: () => number;
    /** The longest recent delay. */
    recentMs: () => number;
  }>;

/**
 * Monitors how late this process's event loop runs, and reports it on the board: if it runs late, a slow response is due to the gateway
 * rather than the node. Counts `gatehouse_event_loop_delay_seconds_total`.
 */
export function watchEventLoop(
  limits: DelayLimits,
  { clock, board, metrics }: Readonly<{ clock: Clock; board: ConditionBoard; metrics: Registry }>,
): EventLoopWatch {
  const late = new Counter({
    name: "gatehouse_event_loop_delay_seconds_total",
    help: "Total event loop delay, which delays all work in the process.",
    registers: [metrics],
  });
  const delays: Readonly<{ atMs: number; ms: number }>[] = [];
  let tickedAtMs = clock.monotonicMs();
  let totalMs = 0;
  const since = (nowMs: number) => Math.max(0, nowMs - tickedAtMs - tickMs);

  let isSlow = false;
  const report = () => {
    const condition = deriveCondition(
      delays.map(({ ms }) => ms),
      isSlow,
      limits,
    );
    isSlow = condition.status === "False";
    board.set(condition);
  };
  const timer = setInterval(() => {
    const atMs = clock.monotonicMs();
    const ms = since(atMs);
    tickedAtMs = atMs;
    totalMs += ms;
    late.inc(ms / 1_000);
    if (ms > 0) delays.push({ atMs, ms });
    while (delays[0] !== undefined && delays[0].atMs < atMs - windowMs) delays.shift();
    report();
  }, tickMs);
  timer.unref();
  report();
  return {
    lateMs: () => totalMs + since(clock.monotonicMs()),
    recentMs: () => {
      const fromMs = clock.monotonicMs() - recentMs;
      return delays.reduce((longest, { atMs, ms }) => (atMs > fromMs ? Math.max(longest, ms) : longest), 0);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** Derives from the delays in the last ten seconds whether callers noticed them. The share must halve before a slow gateway counts as recovered. */
function deriveCondition(
  delaysMs: readonly number[],
  isSlow: boolean,
  { loopDelayMs, loopDelayShare }: DelayLimits,
): ConditionReport {
  const type = "GatewayResponsive";
  const longest = Math.max(0, ...delaysMs);
  const share = delaysMs.reduce((sum, ms) => sum + ms, 0) / windowMs;
  if (longest < loopDelayMs && share < (isSlow ? loopDelayShare / 2 : loopDelayShare)) {
    return { type, status: "True", reason: "Responsive", message: "The gateway's event loop is not delayed." };
  }
  const message =
    `The gateway itself is slow: its event loop was delayed by up to ${Math.round(longest)} ms, ${Math.min(100, Math.round(share * 100))} % of the last ${windowMs / 1_000} s. ` +
    "Callers wait for the gateway, not for the node, so this time does not count against the node. Check the CPU of this process, and which callers send the most (gateway.accessLog, gatehouse_gateway_call_duration_seconds).";
  return { type, status: "False", reason: "EventLoopDelayed", message };
}
