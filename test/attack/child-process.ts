import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** A program of the suite in its own process, stopped on disposal. */
export type SuiteProcess = AsyncDisposable & Readonly<{ child: ChildProcess; told: () => Promise<unknown> }>;

/** Starts the attackers in their own session; they lower its priority. */
export function startAttackers(): SuiteProcess {
  return startProcess("attackers.main.ts", { detached: true });
}

/** Starts a program next to this file; if detached, it gets its own session. */
export function startProcess(program: string, { detached = false } = {}): SuiteProcess {
  const child = fork(new URL(program, import.meta.url), { detached, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit").then(() => Promise.reject(new Error(`${program} ended`)));
  ended.catch(() => undefined);
  return {
    child,
    told: async () => {
      const [message] = (await Promise.race([once(child, "message"), ended])) as [unknown];
      return message;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
