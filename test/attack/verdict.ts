import type { Row } from "../bench/gateway/table.ts";
import type { Phase } from "./attack-run.ts";

/** Attacks under which others wait longer than they should; "What is not defended" in docs/security.md says so. */
export const stillSlow: ReadonlySet<string> = new Set(["huge batches", "all at a time"]);
/** Others' p99 may be so many times what it is undisturbed. */
const mostSlowdown = 3;
/**
 * What a shared machine does to a request by itself: below it nothing is told apart. A container with one CPU is stopped for up to 100 ms at a
 * time when it has used its share (cgroups, `cpu.cfs_period_us`), which the garbage collector's threads count towards.
 */
const noiseMs = 50;

/** The p99 that others may have meanwhile: three times the longest of what they had undisturbed, of the machine's own delays, and of noise. */
export function mostP99Ms(undisturbed: Phase, phase: Phase): number {
  return mostSlowdown * Math.max(undisturbed.p99Ms, phase.controlP99Ms, noiseMs);
}

/** A phase as a line of the table that a run ends with. */
export function verdictOn(undisturbed: Phase, phase: Phase): Row {
  const { attack, requests, p99Ms, controlP99Ms, worstMs, failures } = phase;
  const bound = mostP99Ms(undisturbed, phase);
  const over = stillSlow.has(attack) ? "over, as docs/security.md says" : "OVER";
  return {
    phase: attack,
    requests,
    "p99 ms": p99Ms,
    "bound ms": bound,
    "the node alone p99 ms": controlP99Ms,
    "worst ms": worstMs,
    failed: failures.length,
    verdict: p99Ms <= bound ? "within" : over,
  };
}
