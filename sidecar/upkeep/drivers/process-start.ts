import { readFile } from "node:fs/promises";

/** Clock ticks in a second, in which Linux tells a process's start to programs (`proc_pid_stat(5)`). */
const ticksPerSecond = 100;

/** When a process started, in wall-clock time, to about 20 ms; undefined when it has ended, or on another system than Linux. */
export async function processStart(pid: number): Promise<number | undefined> {
  const ageMs = await processAge(pid);
  return ageMs === undefined ? undefined : Date.now() - ageMs;
}

/** For how long a process has run, in milliseconds, whatever the wall clock did meanwhile; undefined as for {@link processStart}. */
export async function processAge(pid: number): Promise<number | undefined> {
  const [stat, uptime] = await Promise.all(
    [`/proc/${pid}/stat`, "/proc/uptime"].map((path) => readFile(path, "utf8").catch(() => "")),
  );
  if (stat === undefined || uptime === undefined || stat === "") return undefined;
  // The second field is a name in parentheses, which may hold anything; the start is the 20th after it.
  const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? Number.NaN);
  if (!Number.isFinite(ticks)) return undefined;
  return Number(uptime.split(" ")[0]) * 1_000 - (ticks / ticksPerSecond) * 1_000;
}
