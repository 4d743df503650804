import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes of the heap that something still needs: counts after a collection of garbage. */
export function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Collects garbage now, also in a process that was started without `--expose-gc`. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}
