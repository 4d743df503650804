import { print, type Row } from "../bench/gateway/table.ts";
import type { AttackReport, Phase } from "./attack-run.ts";

/** Attacks that take the node's own time: how slow it is for all is no excuse. */
const onTheNode: ReadonlySet<string> = new Set(["calls with much gas"]);
/** Others' p99 may be so many times what it is undisturbed, or what that is taken for where it is less than the machine's own doing. */
const mostSlowdown = 3;
/**
 * Delay that a shared machine adds by itself: below it nothing is told apart, so that on a quiet one the bound is three times this, and more than three
 * times what others wait undisturbed (6 to 9 ms). In the first seconds of an attack, while its burst lasts, the garbage collector's threads use up the
 * share of a container with one CPU, which is then stopped for up to 70 ms (cgroups, `cpu.cfs_period_us`): under huge batches that makes a p99 of up to 35 ms.
 */
const noiseMs = 30;

/**
 * From how many requests on a p99 says what an attack does. One stop of the container for a third of a second is 30 of the 700 requests of a phase
 * of seven seconds: there it makes the whole p99 and nearly the p95, whatever the attack does. What an attack does it does second after second, a
 * stop falls into one: a short phase is judged by the p95 of its middle second.
 */
const requestsForP99 = 3_000;

/** Returns the wait by which a phase is judged: other callers' p99, in a short phase their p95 in its middle second. */
export function judgeMs({ requests, p99Ms, secondP95Ms }: Phase): number {
  return requests < requestsForP99 ? secondP95Ms : p99Ms;
}

/** Computes the highest p99 that other callers may have meanwhile: three times the largest of their undisturbed p99, the machine's own delays, and noise. */
export function computeMaxP99Ms(undisturbed: Phase, phase: Phase): number {
  return mostSlowdown * Math.max(undisturbed.p99Ms, onTheNode.has(phase.attack) ? 0 : phase.controlP99Ms, noiseMs);
}

/** Judges a phase, as a line of the table that a run ends with. */
export function judgePhase(undisturbed: Phase, phase: Phase): Row {
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

/** Prints the table of a run: a line for each phase. */
export function printVerdicts(title: string, { undisturbed, attacked }: AttackReport): void {
  print(
    title,
    [undisturbed, ...attacked].map((phase) => judgePhase(undisturbed, phase)),
  );
}

/** Formats the figures of a phase, with the first of what went wrong. */
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
