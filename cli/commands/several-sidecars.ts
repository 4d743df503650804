import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import { exitStatus } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { isTarget, parseTargets, TargetError, type Target } from "#sidecar/overview/targets.ts";
import type { Agreement } from "#sidecar/upkeep/control/agreement.ts";
import { readControlToken } from "./control-target.ts";
import { readTargets } from "../target-list.ts";
import { NamedValueError, assignValues } from "../upgrade-in-turn/named-values.ts";
import type { TurnCommands } from "../upgrade-in-turn/turn-report.ts";

/** The options for several sidecars, as they were typed. */
export type TypedSidecars = Readonly<{
  url?: readonly string[] | undefined;
  targets?: readonly string[] | undefined;
  tokenFile?: readonly string[] | undefined;
  stateDirectory?: string | undefined;
  settings?: string | undefined;
  at?: unknown;
  cancel: boolean;
  eachWithin?: number | undefined;
}>;

/** Whether more than one sidecar is meant, or a list of them. Pure. */
export function isForSeveral({ url = [], targets }: Pick<TypedSidecars, "url" | "targets">): boolean {
  return targets !== undefined || url.length > 1;
}

/** Finds options that conflict, in words; undefined if none do. Pure. */
export function findSeveralMisuse(typed: TypedSidecars): string | undefined {
  const { url, targets, tokenFile = [], stateDirectory, settings, at, cancel, eachWithin } = typed;
  if (!isForSeveral(typed)) {
    if (tokenFile.length > 1) return "--token-file is given twice for one sidecar.";
    if (eachWithin !== undefined)
      return "--each-within goes with several sidecars: --targets, or --url again and again.";
    return undefined;
  }
  if (url !== undefined && targets !== undefined) return "name the sidecars by --url or by --targets, not by both.";
  if (stateDirectory !== undefined || settings !== undefined) {
    return "--state-directory and --settings name one sidecar; name several by --url or --targets.";
  }
  if (cancel) return "--cancel withdraws the upgrade of one sidecar; say it for each.";
  if (at !== undefined && at !== "now") {
    return "--at with a time or a height has each sidecar begin by itself, so that two nodes could be down at once; with several, only --at now is possible.";
  }
  return undefined;
}

/** Upgrade of several sidecars, as it was typed. */
export type SeveralSidecars = TypedSidecars &
  Agreement &
  Readonly<{
    /** Absolute path of the directory with the new programs. */
    source: string;
    version: string | undefined;
    dryRun: boolean;
  }>;

const defaultEachWithinMs = 21_600_000;

/** Has several sidecars upgrade their nodes, one after the other; returns the exit status. */
export async function upgradeSidecars(
  options: SeveralSidecars,
  { output, mask }: Readonly<{ output: CommandOutput; mask: Mask }>,
): Promise<number> {
  try {
    const found = findTargets(options);
    const tokens = found.targets.map(({ name }) =>
      readControlToken("upgrade", { what: name, file: found.tokenFiles.get(name) }, { mask }),
    );
    const { createSidecarMember } = await import("../upgrade-in-turn/sidecar-member.ts");
    const { upgradeInTurn } = await import("../upgrade-in-turn/upgrade-in-turn.ts");
    const { source, version, at, eachWithin } = options;
    const withinMs = eachWithin === undefined ? defaultEachWithinMs : eachWithin * 1_000;
    const upgrade = { source, version, at: at === "now" ? "now" : "now-if-open", withinMs } as const;
    const members = found.targets.flatMap((target, index) => {
      const token = tokens[index];
      if (token === undefined) return [];
      const control = { kind: "url", url: formatOrigin(target), token } as const;
      return [createSidecarMember(target.name, control, upgrade)];
    });
    // Mistakes in tokens were printed.
    if (members.length < found.targets.length) return exitStatus.error;
    const commands = formatCommands(options, found);
    return await upgradeInTurn({ ...options, members, commands }, { output, signal: createStopSignal() });
  } catch (error) {
    if (!(error instanceof TargetError || error instanceof NamedValueError)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}

type Found = Readonly<{ targets: readonly Target[]; tokenFiles: ReadonlyMap<string, string> }>;

function findTargets({ url = [], targets, tokenFile = [] }: SeveralSidecars): Found {
  const found = targets === undefined ? parseTargets(url) : readTargets(targets);
  const twice = found.find(({ shownUrl }, at) => found.findIndex((other) => other.shownUrl === shownUrl) < at);
  if (twice !== undefined) throw new TargetError(`${twice.shownUrl} is named twice.`);
  const words = { option: "--token-file", words: tokenFile, isShared: true };
  return {
    targets: found,
    tokenFiles: assignValues(
      words,
      found.map(({ name }) => name),
    ),
  };
}

/** Formats the commands that resume the upgrade, without credentials. Pure. */
export function formatCommands(
  { source, version, at, eachWithin, ...typed }: SeveralSidecars,
  found: Found,
): TurnCommands {
  const common = [
    "gatehouse",
    "upgrade",
    source,
    ...(version === undefined ? [] : ["--node-version", version]),
    ...(at === undefined ? [] : ["--at", "now"]),
    ...(eachWithin === undefined ? [] : ["--each-within", String(eachWithin)]),
  ];
  const join = (...words: readonly string[]) => [...common, ...words].map(quoteShellWord).join(" ");
  const tokens = (typed.tokenFile ?? []).flatMap((word) => ["--token-file", word]);
  const where =
    typed.targets === undefined
      ? (typed.url ?? []).flatMap((word) => ["--url", formatTarget(word)])
      : ["--targets", ...typed.targets.map(formatTarget)];
  return {
    again: join(...tokens, ...where),
    only: (names) => {
      const targets = found.targets.filter(({ name }) => names.includes(name));
      const own = names.flatMap((name) => {
        const file = found.tokenFiles.get(name);
        return file === undefined ? [] : ["--token-file", `${name}=${file}`];
      });
      return join(...own, "--targets", ...targets.map(({ name, ...target }) => `${name}=${formatOrigin(target)}`));
    },
  };
}

/** Removes the credentials of a URL in an option; returns a file's name unchanged. */
function formatTarget(word: string): string {
  if (!isTarget(word)) return word;
  const [target] = parseTargets([word]);
  if (target === undefined) return word;
  const origin = formatOrigin(target);
  return URL.parse(origin)?.host === target.name ? origin : `${target.name}=${origin}`;
}

function formatOrigin({ shownUrl }: Pick<Target, "shownUrl">): string {
  return shownUrl.replace(/\/$/, "");
}
