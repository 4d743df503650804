import { InvalidArgumentError, type Command } from "@commander-js/extra-typings";
import { addControlOptions, isHttpUrl, parseLimitSeconds, parseLongLimitSeconds } from "./option-values.ts";

export function addUpgradeOptions(command: Command) {
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
export type UpgradeOptions = ReturnType<ReturnType<typeof addUpgradeOptions>["opts"]>;

/** Describes conflicting options; undefined if there are none. Pure. */
export function findUnsupportedStackOption(
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
