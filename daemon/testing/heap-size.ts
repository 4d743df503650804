import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import v8Flags from "../process/v8-flags.json" with { type: "json" };

export function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

export function collectGarbage(): void {
  for (const flag of v8Flags.collect) setFlagsFromString(flag);
  const collect = runInNewContext("gc") as () => void;
  collect();
}
