import type { ChildProcess } from "node:child_process";

/** Ways to stop a child and to kill it. */
export type ChildStop = Readonly<{
  /** Time that it has to end by itself. */
  deadlineMs: number;
  /** @default SIGTERM to the child */
  stop?: () => void;
  /** @default SIGKILL to the child */
  kill?: () => void;
}>;

/** Stops a child and waits for its end: one that has not ended by the deadline is killed. Nothing happens to one that never ran, or has ended. */
export async function stopChild(child: ChildProcess, { deadlineMs, stop, kill }: ChildStop): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const { promise: exited, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve());
  if (stop === undefined) child.kill("SIGTERM");
  else stop();
  const timer = setTimeout(kill ?? (() => child.kill("SIGKILL")), deadlineMs);
  await exited;
  clearTimeout(timer);
}
