import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { nodeVersionText } from "#node/versions.ts";
import type { Mask } from "#daemon/mask.ts";
import { stopSignal } from "#daemon/stop-signal.ts";
import { findUserStateDirectory } from "#daemon/user-state-directory.ts";
import { askToConfirm, createTerminalOutput } from "./terminal.ts";
import { addControlOptions, findControlTarget } from "./control-target.ts";

/** Creates `gatehouse upgrade`: has a sidecar take its node to another version, and back if that can't be proved. */
export function createUpgradeCommand({ mask }: Readonly<{ mask: Mask }>) {
  const command = new Command("upgrade")
    .summary("Take a node to another version, prove it, and go back to the old one with its data otherwise")
    .description(
      "Asks the running sidecar to stop its node, copy the data, put the programs of a directory in place, migrate node.conf, start and prove the new version. What fails is taken back: data, programs and node.conf. Shows every step first and asks. Exits 0 when the new version is proved, 1 otherwise. " +
        "With --stack it takes the node of a stack on Docker to another image, where pulumi up is run: stop, copy of the data, the image in the configuration, pulumi up, proof; what fails is taken back: image, data and configuration.",
    );
  return addControlOptions(command)
    .argument("[directory]", "directory with the new version's programs (ops, node_cli, …), on the sidecar's machine")
    .option("--node-version <version>", "the new version, where its node_cli does not tell it")
    .option(
      "--at <when>",
      "begin by itself then: a time such as 2027-01-05T02:00:00Z, a height of the chain, or now; default: in upgrade.window, without one now",
      parseStart,
    )
    .option("--cancel", "withdraw the upgrade that has not begun yet", false)
    .option("--stack <name>", "upgrade the node of this Pulumi stack, whose version is its image", parseStack)
    .option("--node-image <reference>", "with --stack: the new image, with a digest", parseImage)
    .option("--continue", "with --stack: go on with the upgrade that was interrupted or stranded", false)
    .option("--cwd <directory>", "with --stack: directory of the Pulumi program; default: this one")
    .option("--config-file <file>", "with --stack: the stack's configuration; default: Pulumi.<stack>.yaml there")
    .option(
      "--prove-within <seconds>",
      "with --stack: how long the new version may take to be proved; default: 1800",
      parseLongSeconds,
    )
    .option(
      "--copy-within <seconds>",
      "with --stack: how long the copy of the data may take; default: 14400",
      parseSeconds,
    )
    .option(
      "--update-within <seconds>",
      "with --stack: how long one pulumi up may take; default: 1800",
      parseLongSeconds,
    )
    .option("--dry-run", "show the steps, and do nothing", false)
    .option("--yes", "agree without being asked", false)
    .option(
      "--json",
      "one JSON document at the end, { result, plan, node, upgrade }: what was shown or begun, and how it ended; asks nobody",
      false,
    )
    .action(async (directory, { nodeVersion: version, at, cancel, dryRun, yes, json, ...options }) => {
      const { stack, nodeImage, continue: isContinued } = options;
      if (stack !== undefined) {
        if (directory !== undefined || cancel || at !== undefined || json) {
          command.error("upgrade: a directory, --cancel, --at and --json do not go with --stack.");
        }
        if ([options.settings, options.stateDirectory, options.tokenFile].some((option) => option !== undefined)) {
          command.error(
            "upgrade: --settings, --state-directory and --token-file do not go with --stack, whose outputs say where its sidecar is.",
          );
        }
        if (options.url !== undefined && !/^https?:$/.test(URL.parse(options.url)?.protocol ?? "")) {
          command.error("upgrade: --url: expected an address such as http://10.0.0.7:9600.");
        }
        if ((nodeImage === undefined) !== isContinued) {
          command.error("upgrade: with --stack, expected --node-image, or --continue alone.");
        }
        process.exitCode = await upgradeStack(stack, { ...options, version, dryRun, yes }, mask);
        return;
      }
      const stackOnly = [options.cwd, options.configFile, nodeImage, ...Object.values(readLimits(options))];
      if (isContinued || stackOnly.some((option) => option !== undefined)) {
        command.error(
          "upgrade: --node-image, --continue, --cwd, --config-file and the --…-within options go with --stack.",
        );
      }
      if ((directory === undefined) !== cancel) {
        command.error("upgrade: expected a directory with the new programs, or --cancel alone.");
      }
      const target = findControlTarget("upgrade", options, { mask });
      if (target === undefined) return;
      const { runUpgradeCommand: run, runCancelCommand } = await import("#sidecar/upkeep/control/upgrade-command.ts");
      if (directory === undefined) {
        process.exitCode = await runCancelCommand(target, createTerminalOutput({ mask }), { json });
        return;
      }
      const confirm = process.stdin.isTTY ? askToConfirm : undefined;
      const source = resolve(directory);
      process.exitCode = await run(
        target,
        { source, version, at, dryRun, yes, json, confirm },
        createTerminalOutput({ mask }),
      );
    });
}

type Limits = Readonly<{
  proveWithin?: number | undefined;
  copyWithin?: number | undefined;
  updateWithin?: number | undefined;
}>;

type StackOptions = Limits &
  Readonly<{
    nodeImage?: string | undefined;
    version: string | undefined;
    continue: boolean;
    cwd?: string | undefined;
    configFile?: string | undefined;
    url?: string | undefined;
    dryRun: boolean;
    yes: boolean;
  }>;

async function upgradeStack(stack: string, options: StackOptions, mask: Mask): Promise<number> {
  const { nodeImage: image, version, cwd = ".", configFile, dryRun, yes } = options;
  const output = createTerminalOutput({ mask });
  if (version !== undefined && !nodeVersionText.test(version)) {
    output.error("upgrade: --node-version: expected a version such as 0.16.2.\n");
    return 1;
  }
  const { runStackUpgradeCommand: run } = await import("./stack-upgrade/stack-upgrade-command.ts");
  return run(
    {
      stack,
      asked: image === undefined ? undefined : { image, version },
      isContinued: options.continue,
      directory: resolve(cwd),
      configFile: configFile === undefined ? undefined : resolve(configFile),
      statusUrl: options.url,
      stateDirectory: findUserStateDirectory(process.env),
      limits: readLimits(options),
      dryRun,
      yes,
      confirm: process.stdin.isTTY ? askToConfirm : undefined,
    },
    { output, signal: stopSignal() },
  );
}

/** Those that were said. */
function readLimits({ copyWithin, updateWithin, proveWithin }: Limits) {
  return {
    ...(copyWithin === undefined ? {} : { copyMs: copyWithin * 1_000 }),
    ...(updateWithin === undefined ? {} : { updateMs: updateWithin * 1_000 }),
    ...(proveWithin === undefined ? {} : { proveMs: proveWithin * 1_000 }),
  };
}

/** A reference that Pulumi and the engine take for nothing else. */
function parseImage(text: string): string {
  if (/^[\w][\w.:/@-]{0,500}$/.test(text)) return text;
  throw new InvalidArgumentError("expected an image reference such as registry.example/node:0.17.0@sha256:…");
}

function parseStack(text: string): string {
  if (/^[\w.-]{1,100}(\/[\w.-]{1,100}){0,2}$/.test(text)) return text;
  throw new InvalidArgumentError("expected the name of a stack such as prod or organization/gatehouse/prod");
}

const secondsMax = 604_800;

/** A node has to be well for a while to be proved, and an update is waited for until the node is: less than this can't succeed. */
const longSecondsMin = 120;

function parseSeconds(text: string): number {
  return parseWholeSeconds(text, 1);
}

function parseLongSeconds(text: string): number {
  return parseWholeSeconds(text, longSecondsMin);
}

function parseWholeSeconds(text: string, secondsMin: number): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= secondsMin && seconds <= secondsMax) return seconds;
  throw new InvalidArgumentError(`expected whole seconds from ${secondsMin} to ${secondsMax}`);
}

/** A time without an offset would be the local one of this machine, which may not be the sidecar's. */
const momentShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

function parseStart(text: string) {
  if (text === "now") return text;
  if (/^\d{1,15}$/.test(text)) return { kind: "height", height: Number(text) } as const;
  const atMs = momentShape.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(atMs)) return { kind: "time", atMs } as const;
  throw new InvalidArgumentError("expected a time with its offset such as 2027-01-05T02:00:00Z, a height, or now");
}
