import { basename } from "node:path";
import gte from "semver/functions/gte.js";
import major from "semver/functions/major.js";
import { nodeFamilies } from "./families.ts";

/** A parsed node version. Comparisons ignore the pre-release part, because a pre-release counts as its release. */
export type NodeVersion = Readonly<{
  /** As given, without a leading `v`, e.g. `0.16.0-rc.1`. */
  text: string;
  /** Release that the version counts as, e.g. `0.16.0`. */
  release: string;
}>;

export type MonitorField = "enabled" | "jobName" | "pushAddress" | "pushIntervalSeconds" | "pushPort";

export type MonitorKeys = Readonly<Record<MonitorField, string>>;

export type NodeRelease = Readonly<{
  /** First release with these traits, e.g. `0.16.0`. */
  since: string;
  /** Layout of the programs and node.conf: {@link deriveBinDirectory}. */
  layout: LayoutName;
  /** Whether `node_cli prune` takes `--c <config_path>`. */
  nodeCliTakesConfig: boolean;
  /** Identifies the release's set of metrics key names. Sidecars store it in their state, so it must not change once released. */
  naming: string;
  monitorKeys: MonitorKeys;
  /** Name of a sixth metrics key, which distinguishes nodes with the same job; absent if the release has no such key. */
  instanceKey?: string;
}>;

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
 * All differences between node versions, oldest first (specification, "Versioning" and "monitor_config keys"). For a release that renames
 * its keys or moves its programs, add a row: the sidecar, lint, devnet, deployment and policies all read this table.
 */
export const nodeReleases: readonly [NodeRelease, ...NodeRelease[]] = [
  { since: "0.0.0", layout: "client-bin", nodeCliTakesConfig: false, ...pamir },
  { since: "0.11.0", layout: "workspace-bin", nodeCliTakesConfig: true, ...pamir },
  { since: "0.16.0", layout: "workspace-bin", nodeCliTakesConfig: true, ...storage },
];

export const devnetVersion = "0.16.2";

const binDirectories = {
  "workspace-bin": () => "bin",
  "client-bin": (nodeDirectory: string) => `${nodeDirectory}/domain/client/bin`,
} as const satisfies Readonly<Record<string, (nodeDirectory: string) => string>>;

/** A layout of the node's workspace (specification, "Versioning", 1). */
export type LayoutName = keyof typeof binDirectories;

/** Relative to the workspace. Not every layout has the node's own directory `nodeDirectory`. */
export function deriveBinDirectory(layout: LayoutName, nodeDirectory: string): string {
  return binDirectories[layout](nodeDirectory);
}

/** Returns the row that a version belongs to. For a version before the first row, returns the first row. */
export function findRelease({ release }: Pick<NodeVersion, "release">): NodeRelease {
  return nodeReleases.findLast(({ since }) => gte(release, since)) ?? nodeReleases[0];
}

export function findReleaseOfText(text: string): NodeRelease {
  const version = parseNodeVersion(text);
  if (version === undefined) throw new Error(`"${text}" is not a version; expected one such as 0.16.2`);
  return findRelease(version);
}

const number = "(0|[1-9]\\d{0,8})";
const versionPattern = `v?${number}\\.${number}(?:\\.${number})?(?:[-+][0-9A-Za-z.+-]+)?`;

/** Exactly a version, with or without a leading `v` and with or without a patch number. */
export const nodeVersionText = new RegExp(`^${versionPattern}$`);

/** Longer strings can't be a version response. */
const textLengthMax = 1_000;

/**
 * Parses a string that consists only of a version: `0.16.2`, `v0.11`, `0.16.0-rc.1`. Returns undefined for anything else, because a version
 * inside a longer text may be an operating system's or a compiler's.
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
 * Parses `debug_protocolVersion.binaryVersion`, whose format the specification does not define: returns the only word that is a version,
 * e.g. in `node v0.16.2 (commit 1a2b3c)`. Ignores text in brackets. Returns undefined if there are two different versions.
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

/** Names of a node's tools. Any other word before a version, such as a library's name, means that the version is not the node's. */
const toolName = /^(?!lib)(?:version:?|[\w-]*node[\w-]*|\w+[_-]cli)$/i;

/** Parses the output of `node_cli --version`: a version on the first line, preceded by nothing except the tool's name or its path, `command`. */
export function parseNodeCliVersion(output: string, command = ""): NodeVersion | undefined {
  const line = output.slice(0, textLengthMax).trim().split("\n")[0]?.trim() ?? "";
  const [, word, version] = toolLine.exec(line) ?? [];
  const name = word === undefined ? undefined : basename(word);
  const isTool = name === undefined || name === basename(command) || toolName.test(name);
  return version === undefined || !isTool ? undefined : parseNodeVersion(version);
}

/**
 * Parses `web3_clientVersion` if it starts with the known name of this node: `<name>/v<version>`, optionally followed by a slash and more
 * text. Other clients (`Reth/v1.3.12/…`) have their own version numbers, and other formats may have a kernel's version in that position.
 */
export function parseClientVersion(answer: string, clientName: string | undefined): NodeVersion | undefined {
  const [name, version] = answer.slice(0, textLengthMax).split("/");
  if (clientName === undefined || version === undefined) return undefined;
  return name?.toLowerCase() === clientName.toLowerCase() ? parseNodeVersion(version) : undefined;
}

/** Releases, keyed by the abbreviated hash of the commit they were built from. */
export type ReleaseCommits = Readonly<Record<string, string>>;

export type ProgramIdentity = Readonly<{ version?: NodeVersion | undefined; commit?: string | undefined }>;

export const knownCommits: ReleaseCommits = Object.assign({}, ...nodeFamilies.map(({ commits }) => commits));

const commitText = /^[0-9a-f]{7,40}(?:-dirty)?$/;

/** Parses a version, or a build commit (`f301031a9-dirty`), whose release may be in the table. */
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

/** Compares two programs by commit, or else by release; "unknown" if they have neither in common. */
export function compareProgram(one: ProgramIdentity, other: ProgramIdentity): "same" | "other" | "unknown" {
  if (one.commit !== undefined && other.commit !== undefined) {
    return isSameCommit(one.commit, other.commit) ? "same" : "other";
  }
  if (one.version === undefined || other.version === undefined) return "unknown";
  return one.version.release === other.version.release ? "same" : "other";
}

export function nameProgram({ version, commit }: ProgramIdentity): string {
  return version?.text ?? commit ?? "unknown";
}

/** Returns whether two commits match, up to the length of the shorter one. */
export function isSameCommit(one: string, other: string): boolean {
  const [first = "", ...firstMark] = one.split("-");
  const [second = "", ...secondMark] = other.split("-");
  const isSame = first.startsWith(second) || second.startsWith(first);
  return isSame && firstMark.join() === secondMark.join();
}

export function listImageCommits(...images: readonly (string | undefined)[]): ReleaseCommits {
  const found = images.map((image) => findTag(image ?? "") ?? []);
  return Object.fromEntries(found.flatMap(([, version, commit]) => (commit && version ? [[commit, version]] : [])));
}

/**
 * Returns the version in an image reference's tag: the tag itself, or the part defined by a node family's tag format. Returns undefined if
 * there is no tag or only a digest, or if the tag contains other words, is `latest` or is a date (`2026.11.1`).
 */
export function parseImageVersion(image: string): NodeVersion | undefined {
  const tag = readTag(image);
  const version = tag === undefined ? undefined : parseNodeVersion(findTag(image)?.[1] ?? tag);
  return version !== undefined && major(version.release) < firstYear ? version : undefined;
}

function readTag(image: string): string | undefined {
  return /:([^/:]+)$/.exec(image.split("@")[0] ?? "")?.[1];
}

function findTag(image: string): RegExpExecArray | undefined {
  const tag = readTag(image) ?? "";
  return nodeFamilies.map((family) => family.image.tag?.exec(tag) ?? undefined).find((found) => found !== undefined);
}

/** A major number in an image tag is a year if it is at least this. */
const firstYear = 1_000;
