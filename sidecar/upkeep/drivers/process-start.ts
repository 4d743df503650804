import { readFile } from "node:fs/promises";
import { uptime } from "node:os";
import type { Clock } from "#daemon/clock.ts";

/** Clock ticks in a second, in which Linux tells a process's start to programs (`proc_pid_stat(5)`). */
const ticksPerSecond = 100;

/** When a process started, by both clocks, to about 20 ms. */
export type ProcessStart = Readonly<{ wallMs: number; monotonicMs: number }>;

/**
 * When a process started; undefined when it has ended, or on another system than Linux. Linux tells it by the machine's uptime, which is
 * read at once after the clocks: were this process to stand still in between, the other would seem to be older, never younger than it is.
 */
export async function processStart(pid: number, clock: Clock): Promise<ProcessStart | undefined> {
  const ticks = await startTicks(pid);
  if (ticks === undefined) return undefined;
  const wallMs = clock.wallMs();
  const monotonicMs = clock.monotonicMs();
  const ageMs = uptime() * 1_000 - (ticks / ticksPerSecond) * 1_000;
  return { wallMs: wallMs - ageMs, monotonicMs: monotonicMs - ageMs };
}

/** States of a process that has ended and whose parent has not asked for its status yet (`proc_pid_stat(5)`). */
const endedStates: ReadonlySet<string | undefined> = new Set(["Z", "X"]);

/**
 * When a process started, in clock ticks since the machine did: with its id, what tells it from every other one. Undefined when it has ended, or on
 * another system than Linux.
 */
export async function startTicks(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  if (stat === "") return undefined;
  // The second field is a name in parentheses, which may hold anything; the state comes after it, and the start is the 20th field from there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[19] ?? Number.NaN);
  return endedStates.has(fields[0]) || !Number.isFinite(ticks) ? undefined : ticks;
}
