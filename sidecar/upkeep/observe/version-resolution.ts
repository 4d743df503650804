import { imageVersion, parseNodeVersion, type NodeVersion } from "./node-version.ts";

/** Everything that may tell the node's version. */
export type VersionSources = Readonly<{
  setting?: string | undefined;
  /** What `node_cli --version` printed. */
  nodeCli?: string | undefined;
  /** What `web3_clientVersion` answered. */
  clientVersion?: string | undefined;
  image?: string | undefined;
}>;

/** The version that counts, where it comes from, and what says otherwise. */
export type VersionResolution = Readonly<{
  version?: NodeVersion;
  source?: string;
  disagreements: readonly string[];
}>;

/** Takes the version from the setting, else node_cli, else the RPC, else the image's tag; names those that disagree. */
export function resolveVersion(sources: VersionSources): VersionResolution {
  const candidates = [
    { source: "node.version", version: parsed(sources.setting) },
    { source: "node_cli --version", version: parsed(sources.nodeCli) },
    { source: "web3_clientVersion", version: parsed(sources.clientVersion) },
    { source: "the image's tag", version: sources.image === undefined ? undefined : imageVersion(sources.image) },
  ];
  const known = candidates.flatMap(({ source, version }) => (version === undefined ? [] : [{ source, version }]));
  const [first, ...others] = known;
  if (first === undefined) return { disagreements: [] };
  const disagreements = others
    .filter(({ version }) => version.release !== first.version.release)
    .map(({ source, version }) => `${source} says ${version.text}`);
  return { ...first, disagreements };
}

function parsed(text: string | undefined): NodeVersion | undefined {
  return text === undefined ? undefined : parseNodeVersion(text);
}
