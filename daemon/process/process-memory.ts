import { totalmem } from "node:os";

/** Returns the bytes of memory that this process may use: its control group's limit, or the machine's memory. */
export function readProcessMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  // Without a control group limit, the value is 0, or more than any machine has.
  return constrained > 0 ? Math.min(constrained, total) : total;
}
