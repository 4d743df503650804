import { readFileSync, readdirSync } from "node:fs";
import type { RunningStack } from "./running-stack.ts";

export function findStackProcesses({ process: { pid }, stateDirectory }: RunningStack): ReadonlyMap<string, number> {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
  const node = JSON.parse(readFileSync(`${stateDirectory}/node/run/node.pid`, "utf8")) as { pid: number };
  return new Map([...children.map((child) => [readSubcommand(child), Number(child)] as const), ["node", node.pid]]);
}

function readSubcommand(pid: string): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").at(-2) ?? "";
}

export function readResidentMiB(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kibibytes) / 1_024);
}
