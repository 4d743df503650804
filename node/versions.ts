import semver from "semver";

/** A node version that could be read; compared without its pre-release part, because a pre-release counts as its release. */
export type NodeVersion = Readonly<{
  /** As it was given, without a leading `v`, e.g. `0.16.0-rc.1`. */
  text: string;
  /** The release that it counts as, e.g. `0.16.0`. */
  release: string;
}>;

/** First version with the layout `bin/` and the option `--c` (specification, "Versioning", 1). */
const firstWithNewLayout = "0.11.0";

/** First version with the `storage_*` keys (specification, "Versioning", 2). */
const firstWithStorageKeys = "0.16.0";

const number = "(0|[1-9]\\d{0,8})";
const versionPattern = `v?${number}\\.${number}(?:\\.${number})?(?:[-+][0-9A-Za-z.+-]+)?`;
const wholeVersion = new RegExp(`^${versionPattern}$`);

/** Longer texts are no answer to "which version". */
const textLengthMax = 1_000;

/**
 * Reads a text that is a version and nothing else: `0.16.2`, `v0.11`, `0.16.0-rc.1`. Undefined for anything else, because a
 * version that was found somewhere in a text may be that of an operating system or a compiler.
 */
export function parseNodeVersion(text: string): NodeVersion | undefined {
  const trimmed = text.slice(0, textLengthMax).trim();
  const found = wholeVersion.exec(trimmed);
  if (found === null) return undefined;
  const [, major = "", minor = "", patch = "0"] = found;
  const release = `${major}.${minor}.${patch}`;
  return semver.valid(release) === null ? undefined : { text: trimmed.replace(/^v/, ""), release };
}

/**
 * Reads `debug_protocolVersion.binaryVersion`, whose form the specification does not show: the one word in it that is a version,
 * e.g. in `node v0.16.2 (commit 1a2b3c)`. What stands in brackets is not looked at; two different versions are none.
 */
export function binaryVersion(text: string): NodeVersion | undefined {
  const words = text
    .slice(0, textLengthMax)
    .replaceAll(/\([^)]*\)/g, " ")
    .split(/[\s/,;]+/);
  const versions = words.flatMap((word) => parseNodeVersion(word) ?? []);
  const [first] = versions;
  return versions.every(({ release }) => release === first?.release) ? first : undefined;
}

const toolLine = new RegExp(`^(?:[\\w.-]+\\s+)?(?:version:?\\s+)?(${versionPattern})(?:[\\s,].*)?$`, "i");

/** Reads what `node_cli --version` printed: on its first line a version, after the tool's name at most. */
export function nodeCliVersion(output: string): NodeVersion | undefined {
  const line = output.slice(0, textLengthMax).trim().split("\n")[0]?.trim() ?? "";
  const version = toolLine.exec(line)?.[1];
  return version === undefined ? undefined : parseNodeVersion(version);
}

/**
 * Reads `web3_clientVersion` if it begins with the name that is known to be this node's: `<name>/v<version>`, and more after
 * another slash. Any other name (`Reth/v1.3.12/…`) counts its own versions, and any other form may put a kernel's there.
 */
export function clientVersion(answer: string, clientName: string | undefined): NodeVersion | undefined {
  const [name, version] = answer.slice(0, textLengthMax).split("/");
  if (clientName === undefined || version === undefined) return undefined;
  return name?.toLowerCase() === clientName.toLowerCase() ? parseNodeVersion(version) : undefined;
}

/**
 * The version that an image reference's tag is; undefined for no tag, one with other words, `latest`, a date (`2026.11.1`), or only
 * a digest.
 */
export function imageVersion(image: string): NodeVersion | undefined {
  const name = image.split("@")[0] ?? "";
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  const version = tag === undefined ? undefined : parseNodeVersion(tag);
  return version !== undefined && semver.major(version.release) < firstYear ? version : undefined;
}

/** A major number of an image's tag from which it is a year. */
const firstYear = 1_000;

/** Whether the node has the layout and the commands of v0.11 and later. */
export function hasNewLayout(version: NodeVersion): boolean {
  return semver.gte(version.release, firstWithNewLayout);
}

/** Whether the node reads the `storage_*` keys of v0.16.0 and later. */
export function hasStorageKeys(version: NodeVersion): boolean {
  return semver.gte(version.release, firstWithStorageKeys);
}
