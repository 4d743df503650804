import { print, type Row } from "../bench/gateway/table.ts";
import type { AttackReport, Phase } from "./attack-run.ts";

/** Attacks that consume the node's time; a node that is slow for everyone does not excuse a failure. */
const onTheNode: ReadonlySet<string> = new Set(["calls with much gas"]);
/**
 * Others' p99 may be this many times its undisturbed value, or a minimum if that value is below the machine's own noise.
 */
const maxSlowdown = 3;
/**
 * Delay that a shared machine adds by itself, below which no effect can be measured, so on a quiet machine the limit is three times this,
 * which is more than three times others' undisturbed wait (5 to 9 ms). In the first second of an attack, its burst uses up the CPU share of
 * a one-CPU container, which is then suspended for up to 70 ms (cgroups, `cpu.cfs_period_us`): under huge batches, that makes a p99 of up
 * to 41 ms in a phase of 15 seconds.
 */
const noiseMs = 30;

/**
 * Min number of requests for a meaningful p99. One suspension of the container for a third of a second affects 30 of the 700 requests of a
 * seven-second phase: it determines the whole p99 and nearly the p95, whatever the attack does. The effect of an attack shows in every
 * second, that of a suspension in one: a short phase is evaluated by the p95 of its middle second.
 */
const requestsForP99 = 3_000;

/**
 * Returns the latency by which a phase is evaluated: other callers' p99, or in a short phase the p95 of its middle second.
 */
export function judgeMs({ requests, p99Ms, secondP95Ms }: Phase): number {
  return requests < requestsForP99 ? secondP95Ms : p99Ms;
}

/**
 * Computes the max p99 for other callers during an attack: three times the largest of their undisturbed p99, the machine's own delays, and
 * noise.
 */
export function computeMaxP99Ms(undisturbed: Phase, phase: Phase): number {
  return maxSlowdown * Math.max(undisturbed.p99Ms, onTheNode.has(phase.attack) ? 0 : phase.controlP99Ms, noiseMs);
}

function judgePhase(undisturbed: Phase, phase: Phase): Row {
  const { attack, requests, p99Ms, secondP95Ms, controlP99Ms, worstMs, failures } = phase;
  const bound = computeMaxP99Ms(undisturbed, phase);
  return {
    phase: attack,
    requests,
    "p99 ms": p99Ms,
    "times undisturbed": Math.round((10 * p99Ms) / Math.max(1, undisturbed.p99Ms)) / 10,
    "p95 of a second ms": secondP95Ms,
    "bound ms": bound,
    "the node alone p99 ms": controlP99Ms,
    "worst ms": worstMs,
    failed: failures.length,
    verdict: judgeMs(phase) <= bound ? "within" : "OVER",
  };
}

export function printVerdicts(title: string, { undisturbed, attacked }: AttackReport): void {
  print(
    title,
    [undisturbed, ...attacked].map((phase) => judgePhase(undisturbed, phase)),
  );
}

/** Formats the figures of a phase, with the first fault. */
export function showPhase({
  attack,
  requests,
  p99Ms,
  secondP95Ms,
  worstMs,
  controlP99Ms,
  failures,
  told,
  memoryMiB,
}: Phase): string {
  const figures = `p99 ${p99Ms} ms, p95 of the middle second ${secondP95Ms} ms, worst ${worstMs} ms, the node alone p99 ${controlP99Ms} ms, ${memoryMiB} MiB`;
  return `${attack}: ${requests} requests, ${figures}, failed ${failures.length}${[...failures.slice(0, 2), ...told.slice(0, 3)].map((line) => `\n    ${line}`).join("")}`;
}
