import { runOpsCommand } from "./ops.ts";
import { runCommand } from "./run-command.ts";

await runCommand("ops", runOpsCommand, process.argv.slice(2));
