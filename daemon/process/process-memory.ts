import { totalmem } from "node:os";

/** Bytes of memory that this process may use: of its control group, or of the machine. */
export function readProcessMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  // Without a limit of its control group it is 0, or more than any machine has.
  return constrained > 0 ? Math.min(constrained, total) : total;
}
