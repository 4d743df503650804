import { spawn } from "node:child_process";
import { once } from "node:events";

export type KillableProcess<Request, State> = Readonly<{
  /** Undefined once the process has exited. */
  ask: (request?: Request) => Promise<State | undefined>;
  hasEnded: () => boolean;
  kill: () => Promise<void>;
}>;

export function startKillableProcess<Request extends object, State>(
  program: string,
  args: readonly string[],
): KillableProcess<Request, State> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit");
  return {
    ask: async (request) => {
      if (!child.connected) return undefined;
      const response = once(child, "message").then(([state]) => state as State);
      // Without a callback, a message to a process that has just exited would emit an error on the child; `ended` reports the exit.
      child.send(request ?? {}, () => undefined);
      return Promise.race([response, ended.then(() => undefined)]);
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
