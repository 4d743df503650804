import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createTerminalOutput, findConfirmation } from "../terminal.ts";
import { runOnTarget } from "./control-commands.ts";
import { addControlOptions, isHttpUrl, parseLimitSeconds, parseLongLimitSeconds } from "./option-values.ts";

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

function addUpgradeOptions(command: Command) {
  return addControlOptions(command)
    .argument("[directory]", "directory with the new version's binaries (ops, node_cli, …), on the sidecar's machine")
    .option("--node-version <version>", "the new version, if its node_cli does not report it")
    .option("--stack <name>", "upgrade the node of this Pulumi stack, whose version is its image", parseStack)
    .option("--node-image <reference>", "with --stack: the new image, with a digest", parseImage)
    .option("--continue", "with --stack: continue an upgrade that was interrupted or whose rollback failed", false)
    .option("--cwd <directory>", "with --stack: directory of the Pulumi program; default: this one")
    .option("--config-file <file>", "with --stack: the stack's configuration; default: Pulumi.<stack>.yaml there")
    .option(
      "--verify-timeout <seconds>",
      "with --stack: timeout for verifying the new version; default: 1800",
      parseLongLimitSeconds,
    )
    .option(
      "--copy-timeout <seconds>",
      "with --stack: timeout for the copy of the data, or its VolumeSnapshot; default: 14400",
      parseLimitSeconds,
    )
    .option(
      "--update-timeout <seconds>",
      "with --stack: timeout for one pulumi up; default: 1800",
      parseLongLimitSeconds,
    )
    .option("--dry-run", "show the steps, and do nothing", false)
    .option("--yes", "don't ask for confirmation", false)
    .option(
      "--json",
      "one JSON document at the end, { result, plan, node, upgrade }: what was shown or started, and the outcome; asks for no confirmation",
      false,
    );
}

/** Typed options; those of a stack are undefined for a host. */
type UpgradeOptions = ReturnType<ReturnType<typeof addUpgradeOptions>["opts"]>;

/** Describes conflicting options; undefined if there are none. Pure. */
function findUnsupportedStackOption(
  options: UpgradeOptions & Readonly<{ directory: string | undefined }>,
): string | undefined {
  const { stack, nodeImage, continue: isContinued, url } = options;
  if (stack === undefined) {
    const { cwd, configFile, verifyTimeout, copyTimeout, updateTimeout } = options;
    const stackOnly = [nodeImage, cwd, configFile, verifyTimeout, copyTimeout, updateTimeout];
    if (!isContinued && stackOnly.every((option) => option === undefined)) return undefined;
    return "--node-image, --continue, --cwd, --config-file and the --…-timeout options require --stack.";
  }
  if (options.directory !== undefined || options.json) {
    return "a directory and --json can't be combined with --stack.";
  }
  const { settings, stateDirectory, tokenFile } = options;
  if ([settings, stateDirectory, tokenFile].some((option) => option !== undefined)) {
    return "--settings, --state-directory and --token-file can't be combined with --stack: the stack's outputs specify its sidecar.";
  }
  if ((nodeImage === undefined) !== isContinued) return "with --stack, expected --node-image, or --continue alone.";
  if (url !== undefined && !isHttpUrl(url)) {
    return "--url: expected an address such as http://10.0.0.7:9600.";
  }
  return undefined;
}

/** Parses an image reference that neither Pulumi nor the engine can misread. */
function parseImage(text: string): string {
  if (/^[\w][\w.:/@-]{0,500}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected an image reference such as registry.example/node:0.17.0@sha256:…");
}

function parseStack(text: string): string {
  if (/^[\w.-]{1,100}(\/[\w.-]{1,100}){0,2}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the name of a stack such as prod or organization/gatehouse/prod.");
}
