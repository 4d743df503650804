import { resolve } from "node:path";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { nodeVersionText } from "#node/versions.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import type { ControlOptions } from "#sidecar/upkeep/control/control-options.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { askToConfirm } from "../terminal.ts";
import { NamedValueError, assignValues } from "../upgrade-in-turn/named-values.ts";
import type { TurnCommands } from "../upgrade-in-turn/turn-report.ts";

type Limits = Readonly<{
  proveWithin?: number | undefined;
  copyWithin?: number | undefined;
  updateWithin?: number | undefined;
}>;

type StackOptions = Limits &
  Readonly<{
    stack?: readonly string[] | undefined;
    nodeImage?: string | undefined;
    continue: boolean;
    /** Each of these may be given once for all stacks, or for one by name: `stack=value`. */
    cwd?: readonly string[] | undefined;
    configFile?: readonly string[] | undefined;
    url?: readonly string[] | undefined;
  }>;

/** Options that were typed alongside those of a stack. */
type TypedAlongside = Pick<ControlOptions, "settings" | "stateDirectory"> &
  Readonly<{
    targets?: readonly string[] | undefined;
    tokenFile?: readonly string[] | undefined;
    eachWithin?: number | undefined;
    directory: string | undefined;
    at?: unknown;
    cancel: boolean;
    json: boolean;
  }>;

/** Finds options that conflict, in words; undefined if none do. Pure. */
export function findStackMisuse(options: StackOptions & TypedAlongside): string | undefined {
  const { stack, nodeImage, continue: isContinued } = options;
  if (stack === undefined) {
    const stackOnly = [options.cwd, options.configFile, nodeImage, ...Object.values(readLimits(options))];
    if (!isContinued && stackOnly.every((option) => option === undefined)) return undefined;
    return "--node-image, --continue, --cwd, --config-file and the --…-within options go with --stack.";
  }
  if (options.directory !== undefined || options.cancel || options.at !== undefined || options.json) {
    return "a directory, --cancel, --at and --json do not go with --stack.";
  }
  const { settings, stateDirectory, tokenFile, targets, eachWithin } = options;
  if ([settings, stateDirectory, tokenFile, targets, eachWithin].some((option) => option !== undefined)) {
    return "--settings, --state-directory, --token-file, --targets and --each-within do not go with --stack, whose outputs say where its sidecar is.";
  }
  if (stack.length > 1 && isContinued) {
    return "--continue is for one stack; of several, the same command with --node-image goes on by itself.";
  }
  if ((nodeImage === undefined) !== isContinued) return "with --stack, expected --node-image, or --continue alone.";
  try {
    readPlaces(options, stack);
    return undefined;
  } catch (error) {
    if (error instanceof NamedValueError) return error.message;
    throw error;
  }
}

/** Location of one stack: its program, configuration and sidecar. */
type TypedPlace = Readonly<{
  stack: string;
  directory: string;
  configFile: string | undefined;
  statusUrl: string | undefined;
}>;

/** @throws {NamedValueError} for ambiguous values. */
function readPlaces(
  { cwd = [], configFile = [], url = [] }: StackOptions,
  stacks: readonly string[],
): readonly TypedPlace[] {
  const directories = assignValues({ option: "--cwd", words: cwd, isShared: true }, stacks);
  const configFiles = assignValues({ option: "--config-file", words: configFile, isShared: false }, stacks);
  const urls = assignValues({ option: "--url", words: url, isShared: false }, stacks);
  for (const one of urls.values()) {
    if (!/^https?:$/.test(URL.parse(one)?.protocol ?? "")) {
      throw new NamedValueError("--url: expected an address such as http://10.0.0.7:9600.");
    }
  }
  const places = stacks.map((stack): TypedPlace => {
    const file = configFiles.get(stack);
    const directory = resolve(directories.get(stack) ?? ".");
    return { stack, directory, configFile: file && resolve(file), statusUrl: urls.get(stack) };
  });
  // The record of an upgrade is named by the last part of the stack's name, next to the program.
  const records = places.map(({ stack, directory }) => `${directory} ${stack.split("/").at(-1)}`);
  const twice = places.find((_, at) => records.indexOf(records[at] ?? "") < at);
  if (twice !== undefined) throw new NamedValueError(`--stack ${twice.stack} is named twice.`);
  return places;
}

type StackWork = StackOptions &
  Readonly<{ stack: readonly string[]; version: string | undefined; dryRun: boolean; yes: boolean }>;

/** Upgrades the nodes of stacks to another image, one after the other, or resumes that; returns the exit status. */
export async function upgradeStacks(options: StackWork, output: CommandOutput): Promise<number> {
  const { stack: stacks, nodeImage: image, version, dryRun, yes } = options;
  if (version !== undefined && !nodeVersionText.test(version)) {
    output.error("upgrade: --node-version: expected a version such as 0.16.2.\n");
    return exitStatus.error;
  }
  const requested = image === undefined ? undefined : { image, version };
  const common = { stateDirectory: findUserStateDirectory(process.env), limits: readLimits(options) };
  const agreement = { dryRun, yes, confirm: process.stdin.isTTY ? askToConfirm : undefined };
  const places = readPlaces(options, stacks);
  const dependencies = { output, signal: createStopSignal() };
  if (requested !== undefined && places.length > 1) {
    const { createStackMember } = await import("../upgrade-in-turn/stack-member.ts");
    const { upgradeInTurn } = await import("../upgrade-in-turn/upgrade-in-turn.ts");
    const create = (place: TypedPlace) => createStackMember({ ...place, ...common, requested }, dependencies);
    return upgradeInTurn(
      { ...agreement, members: places.map(create), commands: formatCommands(options) },
      dependencies,
    );
  }
  const { runStackUpgradeCommand: run } = await import("../stack-upgrade/stack-upgrade-command.ts");
  const [place] = places;
  if (place === undefined) return exitStatus.error;
  return run({ ...place, ...common, ...agreement, requested, isContinued: options.continue }, dependencies);
}

/** Formats the commands that resume the upgrade. Pure. */
function formatCommands({
  nodeImage,
  version,
  cwd = [],
  configFile = [],
  url = [],
  ...options
}: StackWork): TurnCommands {
  const limits = [
    ["--prove-within", options.proveWithin],
    ["--copy-within", options.copyWithin],
    ["--update-within", options.updateWithin],
  ] as const;
  const join = (stacks: readonly string[]) => {
    const others = options.stack.filter((stack) => !stacks.includes(stack));
    const isMeant = (word: string) => !others.some((stack) => word.startsWith(`${stack}=`));
    const words = [
      ...stacks.flatMap((stack) => ["--stack", stack]),
      ...(nodeImage === undefined ? [] : ["--node-image", nodeImage]),
      ...(version === undefined ? [] : ["--node-version", version]),
      ...cwd.filter(isMeant).flatMap((word) => ["--cwd", word]),
      ...configFile.filter(isMeant).flatMap((word) => ["--config-file", word]),
      ...url.filter(isMeant).flatMap((word) => ["--url", word]),
      ...limits.flatMap(([option, seconds]) => (seconds === undefined ? [] : [option, String(seconds)])),
    ];
    return ["gatehouse", "upgrade", ...words].map(quoteShellWord).join(" ");
  };
  return { again: join(options.stack), only: join };
}

/** Reads the limits that were given, in milliseconds. */
function readLimits({ copyWithin, updateWithin, proveWithin }: Limits) {
  return {
    ...(copyWithin === undefined ? {} : { copyMs: copyWithin * 1_000 }),
    ...(updateWithin === undefined ? {} : { updateMs: updateWithin * 1_000 }),
    ...(proveWithin === undefined ? {} : { proveMs: proveWithin * 1_000 }),
  };
}

/** Parses an image reference that neither Pulumi nor the engine can mistake for anything else. */
export function parseImage(text: string): string {
  if (/^[\w][\w.:/@-]{0,500}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected an image reference such as registry.example/node:0.17.0@sha256:…");
}

/** Adds the name of a stack, with its organisation and project or without, to those before it. */
export function parseStack(text: string, earlier: readonly string[] | undefined): readonly string[] {
  if (/^[\w.-]{1,100}(\/[\w.-]{1,100}){0,2}$/.test(text)) return [...(earlier ?? []), text];
  throw new InvalidArgumentError("Expected the name of a stack such as prod or organization/gatehouse/prod.");
}
