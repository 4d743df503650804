import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { askToConfirm, createTerminalOutput } from "../terminal.ts";
import { addControlOptions, parseLimitSeconds, parseLongLimitSeconds } from "./option-values.ts";
import { findStackMisuse, parseImage, parseStack, upgradeStack } from "./stack-upgrade-options.ts";

/** Creates `gatehouse upgrade`: makes a sidecar upgrade its node to another version, and roll back if verification fails. */
export function createUpgradeCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("upgrade")
    .summary("Upgrade a node and verify it; otherwise roll back, data included")
    .description(
      "Has the running sidecar stop its node, copy the data, install the binaries from a directory, migrate node.conf, start and verify the new version. A failed upgrade is rolled back: data, binaries and node.conf. Shows every step first and asks. Exits 0 when the new version is verified, 1 otherwise. With --stack it upgrades the node of a stack on Docker or Kubernetes to another image, where pulumi up is run: stop, copy of the data (on Kubernetes a VolumeSnapshot, through kubectl), the image in the configuration, pulumi up, verification; a failed upgrade is rolled back: image, data and configuration.",
    );
  return addOptions(command).action(async (directory, typed) => {
    const { nodeVersion: version, dryRun, yes, json, ...options } = typed;
    const misuse = findStackMisuse({ ...typed, directory });
    if (misuse !== undefined) command.error(`upgrade: ${misuse}`);
    const output = createTerminalOutput({ mask });
    if (options.stack !== undefined) {
      process.exitCode = await upgradeStack({ ...options, stack: options.stack, version, dryRun, yes }, output);
      return;
    }
    if (directory === undefined) return command.error("upgrade: expected a directory with the new programs.");
    const confirm = process.stdin.isTTY ? askToConfirm : undefined;
    const { findControlTarget } = await import("./control-target.ts");
    const target = findControlTarget("upgrade", options, { mask });
    if (target === undefined) return;
    const { runUpgradeCommand: run } = await import("#sidecar/upkeep/control/upgrade-command.ts");
    const source = resolve(directory);
    process.exitCode = await run(target, { source, version, dryRun, yes, json, confirm }, output);
  });
}

function addOptions(command: Command) {
  return addControlOptions(command)
    .argument("[directory]", "directory with the new version's binaries (ops, node_cli, …), on the sidecar's machine")
    .option("--node-version <version>", "the new version, if its node_cli does not report it")
    .option("--stack <name>", "upgrade the node of this Pulumi stack, whose version is its image", parseStack)
    .option("--node-image <reference>", "with --stack: the new image, with a digest", parseImage)
    .option("--continue", "with --stack: continue the upgrade that was interrupted or stranded", false)
    .option("--cwd <directory>", "with --stack: directory of the Pulumi program; default: this one")
    .option("--config-file <file>", "with --stack: the stack's configuration; default: Pulumi.<stack>.yaml there")
    .option(
      "--prove-within <seconds>",
      "with --stack: timeout for verifying the new version; default: 1800",
      parseLongLimitSeconds,
    )
    .option(
      "--copy-within <seconds>",
      "with --stack: timeout for the copy of the data, or its VolumeSnapshot; default: 14400",
      parseLimitSeconds,
    )
    .option(
      "--update-within <seconds>",
      "with --stack: timeout for one pulumi up; default: 1800",
      parseLongLimitSeconds,
    )
    .option("--dry-run", "show the steps, and do nothing", false)
    .option("--yes", "agree without asking for confirmation", false)
    .option(
      "--json",
      "one JSON document at the end, { result, plan, node, upgrade }: what was shown or started, and the outcome; requests no confirmation",
      false,
    );
}
