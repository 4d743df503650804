import { join } from "node:path";
import { runStackUpgradeCommand } from "../../cli/stack-upgrade/stack-upgrade-command.ts";

/**
 * Runs `gatehouse upgrade --stack`; a version only has to be healthy for seconds. Arguments: the program's directory, the stack, the new
 * image or "" to continue, and its version.
 */
const [directory = "", stack = "", image = "", version = ""] = process.argv.slice(2);
const limits = { copyMs: 120_000, updateMs: 240_000, proveMs: 60_000 };
const stopController = new AbortController();
process.once("SIGTERM", () => stopController.abort());
process.exitCode = await runStackUpgradeCommand(
  {
    stack,
    requested: image === "" ? undefined : { image, version },
    directory,
    configFile: undefined,
    statusUrl: undefined,
    stateDirectory: join(directory, "state"),
    limits,
    dryRun: false,
    yes: true,
    confirm: undefined,
  },
  {
    output: {
      out: (text) => void process.stdout.write(text),
      error: (text) => void process.stderr.write(text),
      isColored: false,
    },
    signal: stopController.signal,
    proof: { everyMs: 250, steadyMs: 3_000 },
    rollbackLimits: limits,
  },
);
