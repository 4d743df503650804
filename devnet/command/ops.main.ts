import { ops } from "./ops.ts";
import { runCommand } from "./run-command.ts";

await runCommand("ops", ops, process.argv.slice(2));
