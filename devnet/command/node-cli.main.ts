import { nodeCli } from "./node-cli.ts";
import { runCommand } from "./run-command.ts";

await runCommand("node_cli", nodeCli, process.argv.slice(2));
