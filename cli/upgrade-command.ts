import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/mask.ts";
import { askToConfirm } from "./confirmed.ts";
import { addControlOptions, findControlTarget } from "./control-target.ts";
import { createTerminalOutput } from "./terminal-output.ts";

/** Creates `gatehouse upgrade`: has a sidecar take its node to another version, and back if that can't be proved. */
export function createUpgradeCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("upgrade")
    .summary("Take a node to another version, prove it, and go back to the old one with its data otherwise")
    .description(
      "Asks the running sidecar to stop its node, copy the data, put the programs of a directory in place, migrate node.conf, start and prove the new version. What fails is taken back: data, programs and node.conf. Shows every step first and asks. Exits 0 when the new version is proved, 1 otherwise.",
    );
  return addControlOptions(command)
    .argument("<directory>", "directory with the new version's programs (ops, node_cli, …), on the sidecar's machine")
    .option("--node-version <version>", "the new version, where its node_cli does not tell it")
    .option("--dry-run", "show the steps, and do nothing", false)
    .option("--yes", "agree without being asked", false)
    .action(async (directory, { nodeVersion: version, dryRun, yes, ...options }) => {
      const target = findControlTarget("upgrade", options, { mask });
      if (target === undefined) return;
      const { runUpgradeCommand: run } = await import("#sidecar/upkeep/control/upgrade-command.ts");
      const confirm = process.stdin.isTTY ? askToConfirm : undefined;
      const source = resolve(directory);
      process.exitCode = await run(target, { source, version, dryRun, yes, confirm }, createTerminalOutput({ mask }));
    });
}
