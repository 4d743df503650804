import { runNodeCliCommand } from "./node-cli.ts";
import { runCommand } from "./run-command.ts";

await runCommand("node_cli", runNodeCliCommand, process.argv.slice(2));
