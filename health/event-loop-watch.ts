import { Counter, type Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";

/** Time between two ticks; how late one comes is the delay. Ten a second cost an idle process nothing that can be measured. */
const tickMs = 100;
/** Time that is looked back on. */
const windowMs = 10_000;
/** A single delay, and a share of the window, from which callers feel it. */
const longMs = 1_000;
const delayedShare = 0.2;

/** The process's own event loop under watch. */
export type EventLoopWatch = Disposable &
  Readonly<{
    /** Time by which the loop has been late since the watch began, what is late now included; only grows. */
    lateMs: () => number;
  }>;

/**
 * Watches how late this process's event loop runs, and says so on the board: a caller that waits for an answer then waits for the gateway and not for
 * the node. Counts `gatehouse_event_loop_delay_seconds_total`.
 */
export function watchEventLoop({
  clock,
  board,
  metrics,
}: Readonly<{ clock: Clock; board: ConditionBoard; metrics: Registry }>): EventLoopWatch {
  const late = new Counter({
    name: "gatehouse_event_loop_delay_seconds_total",
    help: "Time by which the event loop ran late, which everything that the process does waited for.",
    registers: [metrics],
  });
  const delays: Readonly<{ atMs: number; ms: number }>[] = [];
  let tickedAtMs = clock.monotonicMs();
  let totalMs = 0;
  const since = (nowMs: number) => Math.max(0, nowMs - tickedAtMs - tickMs);

  const report = () => board.set(deriveCondition(delays.map(({ ms }) => ms)));
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
  return { lateMs: () => totalMs + since(clock.monotonicMs()), [Symbol.dispose]: () => clearInterval(timer) };
}

/** Says of the delays of the last ten seconds whether callers felt them. */
function deriveCondition(delaysMs: readonly number[]): ConditionReport {
  const type = "GatewayResponsive";
  const longest = Math.max(0, ...delaysMs);
  const share = delaysMs.reduce((sum, ms) => sum + ms, 0) / windowMs;
  if (longest < longMs && share < delayedShare) {
    return { type, status: "True", reason: "Responsive", message: "The gateway's event loop runs on time." };
  }
  const message =
    `The gateway itself is slow: its event loop was late by up to ${Math.round(longest)} ms, ${Math.min(100, Math.round(share * 100))} % of the last ${windowMs / 1_000} s. ` +
    "Callers wait for it and not for the node, which is not judged by that time. Look at the CPU that this process has, and who sends the most (gateway.accessLog, gatehouse_gateway_call_duration_seconds).";
  return { type, status: "False", reason: "EventLoopDelayed", message };
}
