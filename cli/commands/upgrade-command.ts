import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createTerminalOutput, findConfirmation } from "../terminal.ts";
import { runOnTarget } from "./control-commands.ts";
import { addUpgradeOptions, findUnsupportedStackOption, type UpgradeOptions } from "./upgrade-options.ts";

/** Creates `gatehouse upgrade`: makes a sidecar upgrade its node to another version, and roll back if verification fails. */
export function createUpgradeCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("upgrade")
    .summary("Upgrade a node and verify it; otherwise roll back, data included")
    .description(
      "The running sidecar stops its node, copies the data, installs the binaries from a directory, migrates node.conf, and starts and verifies the new version. A failed upgrade is rolled back: data, binaries and node.conf. Shows every step first and asks for confirmation. Exits 0 when the new version is verified, 1 otherwise. With --stack, run it where you run pulumi up: it upgrades the node of a stack on Docker or Kubernetes to another image: stop, copy of the data (on Kubernetes a VolumeSnapshot, through kubectl), the image in the configuration, pulumi up, verification; a failed upgrade is rolled back: image, data and configuration.",
    );
  return addUpgradeOptions(command).action(async (directory, typed) => {
    const { nodeVersion: version, dryRun, yes, json, ...options } = typed;
    const misuse = findUnsupportedStackOption({ ...typed, directory });
    if (misuse !== undefined) command.error(`upgrade: ${misuse}`);
    const output = createTerminalOutput({ mask });
    if (options.stack !== undefined) {
      process.exitCode = await upgradeStack(options.stack, typed, output);
      return;
    }
    if (directory === undefined) return command.error("upgrade: expected a directory with the new binaries.");
    const source = resolve(directory);
    await runOnTarget("upgrade", options, mask, async (target, ownOutput) => {
      const { runUpgradeCommand: run } = await import("#sidecar/upkeep/control/upgrade-command.ts");
      return run(target, { source, version, dryRun, yes, json, confirm: findConfirmation() }, ownOutput);
    });
  });
}

/** Upgrades the node of a stack to another image, or resumes such an upgrade; returns the exit status. */
async function upgradeStack(stack: string, options: UpgradeOptions, output: CommandOutput): Promise<number> {
  const { nodeImage: image, nodeVersion: version, cwd = ".", configFile, url: statusUrl, dryRun, yes } = options;
  const { copyTimeout, updateTimeout, verifyTimeout } = options;
  const { nodeVersionText } = await import("#node/versions.ts");
  if (version !== undefined && !nodeVersionText.test(version)) {
    output.error("upgrade: --node-version: expected a version such as 0.16.2.\n");
    return exitStatus.error;
  }
  const { runStackUpgradeCommand: run } = await import("../stack-upgrade/stack-upgrade-command.ts");
  return run(
    {
      stack,
      directory: resolve(cwd),
      configFile: configFile && resolve(configFile),
      statusUrl,
      stateDirectory: findUserStateDirectory(process.env),
      limits: {
        ...(copyTimeout === undefined ? {} : { copyMs: copyTimeout * 1_000 }),
        ...(updateTimeout === undefined ? {} : { updateMs: updateTimeout * 1_000 }),
        ...(verifyTimeout === undefined ? {} : { proveMs: verifyTimeout * 1_000 }),
      },
      requested: image === undefined ? undefined : { image, version },
      dryRun,
      yes,
      confirm: findConfirmation(),
    },
    { output, signal: createStopSignal() },
  );
}
