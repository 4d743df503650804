import { resolve } from "node:path";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { nodeVersionText } from "#node/versions.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { stopSignal } from "#daemon/stop-signal.ts";
import { findUserStateDirectory } from "#daemon/user-state-directory.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { askToConfirm } from "./terminal.ts";

type Limits = Readonly<{
  proveWithin?: number | undefined;
  copyWithin?: number | undefined;
  updateWithin?: number | undefined;
}>;

type StackOptions = Limits &
  Readonly<{
    stack?: string | undefined;
    nodeImage?: string | undefined;
    continue: boolean;
    cwd?: string | undefined;
    configFile?: string | undefined;
  }>;

/** What was typed next to the options of a stack. */
type TypedBeside = ControlOptions &
  Readonly<{ directory: string | undefined; at: unknown; cancel: boolean; json: boolean }>;

/** What of the options does not go together, in words; undefined where all do. Pure. */
export function findStackMisuse(options: StackOptions & TypedBeside): string | undefined {
  const { stack, nodeImage, continue: isContinued, url } = options;
  if (stack === undefined) {
    const stackOnly = [options.cwd, options.configFile, nodeImage, ...Object.values(readLimits(options))];
    if (!isContinued && stackOnly.every((option) => option === undefined)) return undefined;
    return "--node-image, --continue, --cwd, --config-file and the --…-within options go with --stack.";
  }
  if (options.directory !== undefined || options.cancel || options.at !== undefined || options.json) {
    return "a directory, --cancel, --at and --json do not go with --stack.";
  }
  if ([options.settings, options.stateDirectory, options.tokenFile].some((option) => option !== undefined)) {
    return "--settings, --state-directory and --token-file do not go with --stack, whose outputs say where its sidecar is.";
  }
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    return "--url: expected an address such as http://10.0.0.7:9600.";
  }
  if ((nodeImage === undefined) === isContinued) return undefined;
  return "with --stack, expected --node-image, or --continue alone.";
}

type StackWork = StackOptions &
  Readonly<{ stack: string; version: string | undefined; url?: string | undefined; dryRun: boolean; yes: boolean }>;

/** Takes the node of a stack to another image, or goes on with that; returns the exit status. */
export async function upgradeStack(options: StackWork, output: CommandOutput): Promise<number> {
  const { stack, nodeImage: image, version, cwd = ".", configFile, dryRun, yes } = options;
  if (version !== undefined && !nodeVersionText.test(version)) {
    output.error("upgrade: --node-version: expected a version such as 0.16.2.\n");
    return exitStatus.error;
  }
  const { runStackUpgradeCommand: run } = await import("./stack-upgrade/stack-upgrade-command.ts");
  return run(
    {
      stack,
      requested: image === undefined ? undefined : { image, version },
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
export function parseImage(text: string): string {
  if (/^[\w][\w.:/@-]{0,500}$/.test(text)) return text;
  throw new InvalidArgumentError("expected an image reference such as registry.example/node:0.17.0@sha256:…");
}

/** The name of a stack, with its organization and project or without. */
export function parseStack(text: string): string {
  if (/^[\w.-]{1,100}(\/[\w.-]{1,100}){0,2}$/.test(text)) return text;
  throw new InvalidArgumentError("expected the name of a stack such as prod or organization/gatehouse/prod");
}

const secondsMax = 604_800;

const longSecondsMin = 120;

/** How long something may take. */
export function parseSeconds(text: string): number {
  return parseWholeSeconds(text, 1);
}

/** A node has to be well for a while to be proved, and an update is waited for until the node is: less than two minutes can't succeed. */
export function parseLongSeconds(text: string): number {
  return parseWholeSeconds(text, longSecondsMin);
}

function parseWholeSeconds(text: string, secondsMin: number): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= secondsMin && seconds <= secondsMax) return seconds;
  throw new InvalidArgumentError(`expected whole seconds from ${secondsMin} to ${secondsMax}`);
}
