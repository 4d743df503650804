import { readFileSync } from "node:fs";

const mebibyte = 1_024;

export function readMostResidentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / mebibyte;
}
