import { hostname } from "node:os";
import type { Processes } from "./running-update.ts";
import type { StackRecord } from "./stack-record.ts";

/** A lock as a self-managed backend reports it: one line each. */
const lockLine = /: created by \S+@(\S+) \(pid (\d+)\) at /g;
const lockCount = /currently locked by (\d+) lock/;

/** A `pulumi up` that this upgrade has begun. */
type BegunUpdate = NonNullable<StackRecord["update"]>;

/**
 * Finds the process that left the stack locked, in the error of a `pulumi up` that was refused: an update that this upgrade itself began on
 * this machine, and that has ended. Undefined if anybody else has a lock, or if that can't be determined.
 */
export async function findDeadLock(
  said: string,
  begun: readonly BegunUpdate[],
  { processes }: Readonly<{ processes: Pick<Processes, "startOf"> }>,
): Promise<number | undefined> {
  const locks = [...said.matchAll(lockLine)].map(([, host, pid]) => ({ host, pid: Number(pid) }));
  const [lock] = locks;
  if (lock === undefined || locks.length > 1 || Number(lockCount.exec(said)?.[1]) !== 1) return undefined;
  const own = begun.find(({ pid }) => pid === lock.pid);
  if (own === undefined || lock.host !== hostname()) return undefined;
  return (await processes.startOf(own.pid)) === own.startedAt ? undefined : own.pid;
}
