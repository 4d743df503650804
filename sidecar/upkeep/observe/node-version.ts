import semver from "semver";

/** A node version that could be read; compared without its pre-release part, because a pre-release counts as its release. */
export type NodeVersion = Readonly<{
  /** As it was given, e.g. `v0.16.0-rc.1`. */
  text: string;
  /** The release that it counts as, e.g. `0.16.0`. */
  release: string;
}>;

/** First version with the layout `bin/` and the option `--c` (specification, "Versioning", 1). */
const firstWithNewLayout = "0.11.0";

/** First version with the `storage_*` keys (specification, "Versioning", 2). */
const firstWithStorageKeys = "0.16.0";

/**
 * Finds the version in what a setting, `node_cli --version`, `web3_clientVersion` or an image tag say, e.g. `node/v0.16.2/linux`.
 * Returns undefined when there is none.
 */
export function parseNodeVersion(text: string): NodeVersion | undefined {
  const found = /(?:^|[^\d.])v?((\d+)\.(\d+)(?:\.(\d+))?(-[0-9A-Za-z.-]+)?)/.exec(text.slice(0, 1_000));
  if (found === null) return undefined;
  const [, whole = "", major = "", minor = "", patch = "0"] = found;
  const release = `${Number(major)}.${Number(minor)}.${Number(patch)}`;
  return semver.valid(release) === null ? undefined : { text: whole, release };
}

/** The version that an image reference's tag names; undefined for no tag, `latest` or only a digest. */
export function imageVersion(image: string): NodeVersion | undefined {
  const name = image.split("@")[0] ?? "";
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  return tag === undefined ? undefined : parseNodeVersion(tag);
}

/** Whether the node has the layout and the commands of v0.11 and later. */
export function hasNewLayout(version: NodeVersion): boolean {
  return semver.gte(version.release, firstWithNewLayout);
}

/** Whether the node reads the `storage_*` keys of v0.16.0 and later. */
export function hasStorageKeys(version: NodeVersion): boolean {
  return semver.gte(version.release, firstWithStorageKeys);
}
