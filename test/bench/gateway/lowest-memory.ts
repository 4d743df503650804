import { readMemoryMiB } from "./wrk.ts";

/** Time between two looks at a process's memory. */
const lookMs = 100;

/**
 * Watches the resident memory of a process while something goes on, and answers the lowest that it had: what is left when its
 * garbage collection has just run, at whatever time that was.
 */
export async function withLowestMemory<Result>(
  pid: number,
  goOn: () => Promise<Result>,
): Promise<Readonly<{ result: Result; lowestMiB: number }>> {
  let lowestMiB = readMemoryMiB(pid, "VmRSS");
  const timer = setInterval(() => {
    lowestMiB = Math.min(lowestMiB, readMemoryMiB(pid, "VmRSS"));
  }, lookMs);
  try {
    const result = await goOn();
    return { result, lowestMiB };
  } finally {
    clearInterval(timer);
  }
}
