import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/mask.ts";
import { terminalOutput } from "./terminal-output.ts";

/** Makes `gatehouse lint`: judges a node.conf with no node at all. */
export function lintCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("lint")
    .summary("Judge a node.conf with no node at all")
    .description(
      "Prints what is wrong in a node.conf, each with line, column and the fix: ports that clash, missing paths, a push address with a protocol, wrong types, metrics keys of another version, secrets. Exits 0 when there is nothing to mend, 2 when there is, 1 when the file can't be read.",
    )
    .argument("<node.conf>", "the file to judge")
    .option("--node-version <version>", "version of the node, to judge its metrics keys")
    .option("--json", "print JSON for machines", false)
    .action(async (configPath, { nodeVersion, json }) => {
      const { lintCommand: run } = await import("#node/lint/lint-command.ts");
      process.exitCode = await run({ configPath, nodeVersion, json }, terminalOutput({ mask }));
    });
}
