import { runProcess } from "../bounded-process.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** The command that restarts a compose deployment, and where its file is. */
export type ComposeDriverOptions = Readonly<{ command: readonly string[]; directory: () => string; timeoutMs: number }>;

/** Output of the command that is kept for a message. */
const outputLimitBytes = 1_048_576;

/** Restarts a container deployment with `docker compose restart` (specification, "Node command line"). */
export function composeDriver({ command, directory, timeoutMs }: ComposeDriverOptions): NodeDriver {
  return {
    name: "compose",
    restart: async (signal) => {
      const [file = "", ...args] = command;
      const where = directory();
      const result = await runProcess({
        command: [file, ...args],
        directory: where,
        timeoutMs,
        outputLimitBytes,
        signal,
      });
      // Compose tells its progress on standard error: what stands there is no complaint.
      if (result.ok) return {};
      const what = `(compose.command ${JSON.stringify(command)} in compose.directory ${where})`;
      throw new DriverError(`${result.message} ${what}`);
    },
  };
}
