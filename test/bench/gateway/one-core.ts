import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Finds the first core that this process may run on (proc(5)). */
export function findFirstCore(): number {
  return Number(/^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}

/**
 * Keeps a process with all of its threads to one core. Where all that a request passes shares a core, none has to be woken for it: what is
 * left is the time that each takes itself.
 */
export function keepToCore(pid: number, core: number): void {
  execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", String(core), String(pid)], { stdio: "ignore" });
}
