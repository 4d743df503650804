import { resolve } from "node:path";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { askToConfirm } from "../terminal.ts";
import { isHttpUrl } from "./option-values.ts";

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
    url?: string | undefined;
  }>;

/** Other options of the command, which may conflict with those for a stack. */
type TypedAlongside = Pick<ControlOptions, "settings" | "stateDirectory" | "tokenFile"> &
  Readonly<{ directory: string | undefined; json: boolean }>;

/** Describes conflicting options; undefined if there are none. Pure. */
export function findStackMisuse(options: StackOptions & TypedAlongside): string | undefined {
  const { stack, nodeImage, continue: isContinued, url } = options;
  if (stack === undefined) {
    const stackOnly = [options.cwd, options.configFile, nodeImage, ...Object.values(readLimits(options))];
    if (!isContinued && stackOnly.every((option) => option === undefined)) return undefined;
    return "--node-image, --continue, --cwd, --config-file and the --…-within options go with --stack.";
  }
  if (options.directory !== undefined || options.json) {
    return "a directory and --json do not go with --stack.";
  }
  const { settings, stateDirectory, tokenFile } = options;
  if ([settings, stateDirectory, tokenFile].some((option) => option !== undefined)) {
    return "--settings, --state-directory and --token-file do not go with --stack, whose outputs say where its sidecar is.";
  }
  if ((nodeImage === undefined) !== isContinued) return "with --stack, expected --node-image, or --continue alone.";
  if (url !== undefined && !isHttpUrl(url)) {
    return "--url: expected an address such as http://10.0.0.7:9600.";
  }
  return undefined;
}

type StackWork = StackOptions & Readonly<{ stack: string; version: string | undefined; dryRun: boolean; yes: boolean }>;

/** Upgrades the node of a stack to another image, or resumes such an upgrade; returns the exit status. */
export async function upgradeStack(options: StackWork, output: CommandOutput): Promise<number> {
  const { stack, nodeImage: image, version, cwd = ".", configFile, url, dryRun, yes } = options;
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
      statusUrl: url,
      stateDirectory: findUserStateDirectory(process.env),
      limits: readLimits(options),
      requested: image === undefined ? undefined : { image, version },
      dryRun,
      yes,
      confirm: process.stdin.isTTY ? askToConfirm : undefined,
    },
    { output, signal: createStopSignal() },
  );
}

function readLimits({ copyWithin, updateWithin, proveWithin }: Limits) {
  return {
    ...(copyWithin === undefined ? {} : { copyMs: copyWithin * 1_000 }),
    ...(updateWithin === undefined ? {} : { updateMs: updateWithin * 1_000 }),
    ...(proveWithin === undefined ? {} : { proveMs: proveWithin * 1_000 }),
  };
}

/** Parses an image reference that neither Pulumi nor the engine can misread. */
export function parseImage(text: string): string {
  if (/^[\w][\w.:/@-]{0,500}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected an image reference such as registry.example/node:0.17.0@sha256:…");
}

/** Parses the name of a stack, with or without organisation and project. */
export function parseStack(text: string): string {
  if (/^[\w.-]{1,100}(\/[\w.-]{1,100}){0,2}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the name of a stack such as prod or organization/gatehouse/prod.");
}
