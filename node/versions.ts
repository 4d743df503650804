import { basename } from "node:path";
import gte from "semver/functions/gte.js";
import major from "semver/functions/major.js";
import { nodeFamilies, type NodeFamilies } from "./families.ts";

/** A node version that could be read; compared without its pre-release part, because a pre-release counts as its release. */
export type NodeVersion = Readonly<{
  /** As it was given, without a leading `v`, e.g. `0.16.0-rc.1`. */
  text: string;
  /** The release that it counts as, e.g. `0.16.0`. */
  release: string;
}>;

/** The five settings of metrics pushing, by meaning. */
export type MonitorField = "enabled" | "jobName" | "pushAddress" | "pushIntervalSeconds" | "pushPort";

/** The names of the five keys in `chain.monitor_config`. */
export type MonitorKeys = Readonly<Record<MonitorField, string>>;

/** Traits of a node from one release to the next row's. */
export type NodeRelease = Readonly<{
  /** First release with these traits, e.g. `0.16.0`. */
  since: string;
  /** Layout of its programs and its node.conf: {@link deriveBinDirectory}. */
  layout: LayoutName;
  /** Whether `node_cli prune` takes `--c <config_path>`. */
  nodeCliTakesConfig: boolean;
  /** Word for its names of the metrics keys. Sidecars keep it in their state, so a released one stays. */
  naming: string;
  monitorKeys: MonitorKeys;
  /** Its name of a sixth key there, which tells nodes of one job apart; absent if it reads none. */
  instanceKey?: string;
}>;

/** Rows of {@link nodeReleases}, oldest first. */
export type NodeReleases = readonly [NodeRelease, ...NodeRelease[]];

const pamirKeys: MonitorKeys = {
  enabled: "enable_pamir_cetina",
  jobName: "pamir_cetina_job_name",
  pushAddress: "pamir_cetina_push_address",
  pushIntervalSeconds: "pamir_cetina_push_interval",
  pushPort: "pamir_cetina_push_port",
};

const storageKeys: MonitorKeys = {
  enabled: "storage_enable_cetina",
  jobName: "storage_cetina_job_name",
  pushAddress: "storage_cetina_push_address",
  pushIntervalSeconds: "storage_cetina_push_interval",
  pushPort: "storage_cetina_push_port",
};

const pamir = { naming: "pamir", monitorKeys: pamirKeys, instanceKey: "pamir_cetina_instance_name" } as const;
const storage = { naming: "storage", monitorKeys: storageKeys } as const;

/**
 * Everything that changes with the node's version, oldest first (specification, "Versioning" and "monitor_config keys"). A release that
 * names its keys differently, or moves its programs, is one more row: sidecar, lint, devnet, deployment and policies all read this table.
 */
export const nodeReleases: NodeReleases = [
  { since: "0.0.0", layout: "client-bin", nodeCliTakesConfig: false, ...pamir },
  { since: "0.11.0", layout: "workspace-bin", nodeCliTakesConfig: true, ...pamir },
  { since: "0.16.0", layout: "workspace-bin", nodeCliTakesConfig: true, ...storage },
];

/** Version of a devnet node if nothing else is set. */
export const devnetVersion = "0.16.2";

const binDirectories = {
  "workspace-bin": () => "bin",
  "client-bin": (nodeDirectory: string) => `${nodeDirectory}/domain/client/bin`,
} as const satisfies Readonly<Record<string, (nodeDirectory: string) => string>>;

/** A layout of the node's workspace (specification, "Versioning", 1). */
export type LayoutName = keyof typeof binDirectories;

/**
 * Returns the directory with `node_cli`, `ops` and node.conf, relative to the workspace. `nodeDirectory` is the name of the node's own directory,
 * which not every layout has.
 */
export function deriveBinDirectory(layout: LayoutName, nodeDirectory: string): string {
  return binDirectories[layout](nodeDirectory);
}

/** Returns the row that a version belongs to; a version before the first row belongs to the first. */
export function findRelease(
  { release }: Pick<NodeVersion, "release">,
  releases: NodeReleases = nodeReleases,
): NodeRelease {
  return releases.findLast(({ since }) => gte(release, since)) ?? releases[0];
}

/**
 * Works as {@link findRelease}, for a version's text.
 *
 * @throws {Error} when the text is not a version.
 */
export function findReleaseOfText(text: string, releases: NodeReleases = nodeReleases): NodeRelease {
  const version = parseNodeVersion(text);
  if (version === undefined) throw new Error(`"${text}" is not a version; expected one such as 0.16.2`);
  return findRelease(version, releases);
}

const number = "(0|[1-9]\\d{0,8})";
const versionPattern = `v?${number}\\.${number}(?:\\.${number})?(?:[-+][0-9A-Za-z.+-]+)?`;

/** A version and nothing else, with or without a leading `v` and with or without a patch number. */
export const nodeVersionText = new RegExp(`^${versionPattern}$`);

/** Longer texts are no answer to "which version". */
const textLengthMax = 1_000;

/**
 * Reads a text that is a version and nothing else: `0.16.2`, `v0.11`, `0.16.0-rc.1`. Undefined for anything else, because a
 * version that was found somewhere in a text may be that of an operating system or a compiler.
 *
 * @example
 * import { parseNodeVersion } from "gatehouse-evm/lint";
 *
 * console.log(parseNodeVersion("v0.11")?.release); // 0.11.0
 * console.log(parseNodeVersion("Ubuntu 24.04")); // undefined
 */
export function parseNodeVersion(text: string): NodeVersion | undefined {
  const trimmed = text.slice(0, textLengthMax).trim();
  const found = nodeVersionText.exec(trimmed);
  if (found === null) return undefined;
  const [, first = "", second = "", patch = "0"] = found;
  return { text: trimmed.replace(/^v/, ""), release: `${first}.${second}.${patch}` };
}

/**
 * Reads `debug_protocolVersion.binaryVersion`, whose form the specification does not show: the one word in it that is a version,
 * e.g. in `node v0.16.2 (commit 1a2b3c)`. What stands in brackets is not looked at; two different versions count as no version.
 */
export function parseBinaryVersion(text: string): NodeVersion | undefined {
  const words = text
    .slice(0, textLengthMax)
    .replaceAll(/\([^)]*\)/g, " ")
    .split(/[\s/,;]+/);
  const versions = words.flatMap((word) => parseNodeVersion(word) ?? []);
  const [first] = versions;
  return versions.every(({ release }) => release === first?.release) ? first : undefined;
}

const toolLine = new RegExp(`^(?:([\\w./-]+)\\s+)?(?:version:?\\s+)?(${versionPattern})(?:[\\s,].*)?$`, "i");

/** Names of a node's tools; any other word before a version, such as that of a library, names something else's. */
const toolName = /^(?!lib)(?:version:?|[\w-]*node[\w-]*|\w+[_-]cli)$/i;

/**
 * Reads what `node_cli --version` printed: on its first line a version, after the tool's name at most.
 *
 * @param command name or path that the tool is run by, which it may print as its name.
 */
export function parseNodeCliVersion(output: string, command = ""): NodeVersion | undefined {
  const line = output.slice(0, textLengthMax).trim().split("\n")[0]?.trim() ?? "";
  const [, word, version] = toolLine.exec(line) ?? [];
  const name = word === undefined ? undefined : basename(word);
  const isTool = name === undefined || name === basename(command) || toolName.test(name);
  return version === undefined || !isTool ? undefined : parseNodeVersion(version);
}

/**
 * Reads `web3_clientVersion` if it begins with the name that is known to be this node's: `<name>/v<version>`, and more after
 * another slash. Any other name (`Reth/v1.3.12/…`) counts its own versions, and any other form may put a kernel's there.
 */
export function parseClientVersion(answer: string, clientName: string | undefined): NodeVersion | undefined {
  const [name, version] = answer.slice(0, textLengthMax).split("/");
  if (clientName === undefined || version === undefined) return undefined;
  return name?.toLowerCase() === clientName.toLowerCase() ? parseNodeVersion(version) : undefined;
}

/** Releases by the first digits of the commits that their programs were built from. */
export type ReleaseCommits = Readonly<Record<string, string>>;

/** Identity of a program, as far as its own words show it. */
export type ProgramIdentity = Readonly<{ version?: NodeVersion | undefined; commit?: string | undefined }>;

/** Commits of all families' releases. */
export const knownCommits: ReleaseCommits = Object.assign({}, ...nodeFamilies.map(({ commits }) => commits));

const commitText = /^[0-9a-f]{7,40}(?:-dirty)?$/;

/** Reads what a program says of itself: a version, or the commit that it was built from (`f301031a9-dirty`), whose release a table may have; undefined for anything else. */
export function identifyProgram(
  text: string | undefined,
  parse: (text: string) => NodeVersion | undefined,
  commits: ReleaseCommits,
): ProgramIdentity | undefined {
  if (text === undefined) return undefined;
  const version = parse(text);
  if (version !== undefined) return { version };
  const commit = text.slice(0, textLengthMax).trim().split("\n")[0]?.trim() ?? "";
  if (!commitText.test(commit)) return undefined;
  const release = Object.keys(commits).find((each) => isSameCommit(each, commit.replace("-dirty", "")));
  return { commit, version: release === undefined ? undefined : parseNodeVersion(commits[release] ?? "") };
}

/** Compares two programs by their commits, else by their releases; "unknown" if they have neither in common. */
export function compareProgram(one: ProgramIdentity, other: ProgramIdentity): "same" | "other" | "unknown" {
  if (one.commit !== undefined && other.commit !== undefined) {
    return isSameCommit(one.commit, other.commit) ? "same" : "other";
  }
  if (one.version === undefined || other.version === undefined) return "unknown";
  return one.version.release === other.version.release ? "same" : "other";
}

/** Names a program by its version, else by its commit. */
export function nameProgram({ version, commit }: ProgramIdentity): string {
  return version?.text ?? commit ?? "unknown";
}

/** Whether two commits are the same, as far as both are written out. */
export function isSameCommit(one: string, other: string): boolean {
  const [first = "", ...firstMark] = one.split("-");
  const [second = "", ...secondMark] = other.split("-");
  const isSame = first.startsWith(second) || second.startsWith(first);
  return isSame && firstMark.join() === secondMark.join();
}

/** Returns the commits that the tags of images name, with their releases. */
export function listImageCommits(...images: readonly (string | undefined)[]): ReleaseCommits {
  const found = images.map((image) => findTag(image ?? "", nodeFamilies) ?? []);
  return Object.fromEntries(found.flatMap(([, version, commit]) => (commit && version ? [[commit, version]] : [])));
}

/**
 * Returns the version that an image reference's tag is, or has where a family of nodes has it; undefined for no tag, one with other words, `latest`,
 * a date (`2026.11.1`), or only a digest.
 */
export function parseImageVersion(image: string, families = nodeFamilies): NodeVersion | undefined {
  const tag = readTag(image);
  const version = tag === undefined ? undefined : parseNodeVersion(findTag(image, families)?.[1] ?? tag);
  return version !== undefined && major(version.release) < firstYear ? version : undefined;
}

function readTag(image: string): string | undefined {
  return /:([^/:]+)$/.exec(image.split("@")[0] ?? "")?.[1];
}

function findTag(image: string, families: NodeFamilies): RegExpExecArray | undefined {
  const tag = readTag(image) ?? "";
  return families.map((family) => family.image.tag?.exec(tag) ?? undefined).find((found) => found !== undefined);
}

/** A major number of an image's tag from which it is a year. */
const firstYear = 1_000;
