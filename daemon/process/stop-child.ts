import type { ChildProcess } from "node:child_process";

export type ChildStop = Readonly<{
  deadlineMs: number;
  /** @default SIGTERM to the child */
  stop?: () => void;
  /** @default SIGKILL to the child */
  kill?: () => void;
}>;

/** Stops a child and waits for its exit; kills it at the deadline. Does nothing if it never ran, or has exited. */
export async function stopChild(child: ChildProcess, { deadlineMs, stop, kill }: ChildStop): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const { promise: exitEvent, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve());
  if (stop === undefined) child.kill("SIGTERM");
  else stop();
  const timer = setTimeout(kill ?? (() => child.kill("SIGKILL")), deadlineMs);
  await exitEvent;
  clearTimeout(timer);
}
