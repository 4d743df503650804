import type { ReportedVersion } from "#health/rpc-state.ts";
import {
  compareProgram,
  identifyProgram,
  parseBinaryVersion,
  parseClientVersion,
  parseImageVersion,
  parseNodeCliVersion,
  parseNodeVersion,
  findRelease,
  type NodeVersion,
  type ProgramIdentity,
  type ReleaseCommits,
} from "#node/versions.ts";

export type VersionSources = Readonly<{
  /** `debug_protocolVersion.binaryVersion`, and whether the node has reported it since it last became responsive. */
  binary?: ReportedVersion | undefined;
  setting?: string | undefined;
  nodeCli?: string | undefined;
  /** The tool's name or path, which the tool may print as its own name. */
  toolCommand?: string | undefined;
  clientVersion?: ReportedVersion | undefined;
  clientName?: string | undefined;
  image?: string | undefined;
  commits?: ReleaseCommits | undefined;
}>;

export type VersionResolution = Readonly<{
  version?: NodeVersion;
  /** Commit from which the node was built or, if that is unknown, the commit of its program. */
  commit?: string;
  source?: string;
  /** Whether the running node reported the version. */
  isRunning?: boolean;
  disagreements: readonly string[];
  /** Reason why the version is too uncertain for renaming keys, and the remedy. The keys stay unchanged. */
  doubt?: string;
  heard: readonly string[];
}>;

type Candidate = Readonly<{ source: string; version: NodeVersion }>;

/**
 * Takes the version from what the node or its programs report (specification, "Protocol version info"), then the setting and the image,
 * which an upgrade may have left behind. The node's last report before it went down counts, but not for key names: it may come back as
 * another version. Pure.
 */
export function resolveVersion(sources: VersionSources): VersionResolution {
  const programs = identifyPrograms(sources);
  const commit = programs.binary?.commit ?? programs.nodeCli?.commit;
  const shown = commit === undefined ? {} : { commit };
  const candidates = listCandidates(sources, programs);
  const [first, ...otherCandidates] = candidates;
  if (first === undefined) return { ...shown, disagreements: [], heard: listHeard(sources) };
  const disagreements = otherCandidates
    .filter(({ version }) => version.release !== first.version.release)
    .map(({ source, version }) => `${source} says ${version.text}`);
  const doubt = findDoubt(first, otherCandidates, sources.binary);
  const isRunning = first.source === sourceNames.binary || first.source === sourceNames.client;
  return { ...shown, ...first, isRunning, disagreements, ...(doubt === undefined ? {} : { doubt }), heard: [] };
}

const sourceNames = {
  binary: "debug_protocolVersion",
  lastBinary: "debug_protocolVersion, before the node stopped responding",
  setting: "node.version",
  nodeCli: "node_cli --version",
  image: "the image's tag",
  client: "web3_clientVersion",
  lastClient: "web3_clientVersion, before the node stopped responding",
} as const;

function identifyPrograms({ binary, nodeCli, toolCommand, commits = {} }: VersionSources) {
  return {
    binary: identifyProgram(binary?.text, parseBinaryVersion, commits),
    nodeCli: identifyProgram(nodeCli, (text) => parseNodeCliVersion(text, toolCommand), commits),
  };
}

export function isAnotherProgram(
  { now, before, toolCommand }: Readonly<Partial<Record<"now" | "before" | "toolCommand", string | undefined>>>,
  commits: ReleaseCommits,
): boolean {
  const identify = (text: string | undefined) =>
    identifyProgram(text, (each) => parseNodeCliVersion(each, toolCommand), commits);
  const [one, other] = [identify(now), identify(before)];
  return one !== undefined && other !== undefined && compareProgram(one, other) === "other";
}

function listCandidates(
  { binary, setting, clientVersion: client, clientName, image }: VersionSources,
  programs: Readonly<Record<"binary" | "nodeCli", ProgramIdentity | undefined>>,
): readonly Candidate[] {
  const ofClient = client && parseClientVersion(client.text, clientName);
  const named: readonly (readonly [string, NodeVersion | undefined])[] = [
    [binary?.isCurrent === true ? sourceNames.binary : sourceNames.lastBinary, programs.binary?.version],
    [sourceNames.client, client?.isCurrent === true ? ofClient : undefined],
    [sourceNames.nodeCli, programs.nodeCli?.version],
    [sourceNames.setting, setting === undefined ? undefined : parseNodeVersion(setting)],
    [sourceNames.image, image === undefined ? undefined : parseImageVersion(image)],
    [sourceNames.lastClient, client?.isCurrent === false ? ofClient : undefined],
  ];
  return named.flatMap(([source, version]) => (version === undefined ? [] : [{ source, version }]));
}

function findDoubt(
  first: Candidate,
  otherCandidates: readonly Candidate[],
  binary: VersionSources["binary"],
): string | undefined {
  if (first.source === sourceNames.lastBinary) {
    return `the node reported ${binary?.text} before it stopped responding, and may restart as another version; start it, or set node.version (GATEHOUSE_SIDECAR_NODE_VERSION)`;
  }
  const installedCandidate = otherCandidates.find(({ source }) => source === sourceNames.nodeCli);
  const getNaming = ({ version }: Candidate) => findRelease(version).naming;
  if (installedCandidate === undefined || getNaming(installedCandidate) === getNaming(first)) return undefined;
  return `${first.source} reports ${first.version.text}, but ${installedCandidate.source} reports ${installedCandidate.version.text}; restart the node to finish the upgrade`;
}

function listHeard({ binary, nodeCli, clientVersion: client, image }: VersionSources): readonly string[] {
  return [
    ...(binary === undefined ? [] : [`debug_protocolVersion returns binaryVersion ${quoteOutput(binary.text)}`]),
    ...(nodeCli === undefined || nodeCli.trim() === "" ? [] : [`node_cli --version prints ${quoteOutput(nodeCli)}`]),
    ...(image === undefined ? [] : [`the image is ${quoteOutput(image)}`]),
    ...(client === undefined ? [] : [`web3_clientVersion returns ${quoteOutput(client.text)}`]),
  ];
}

function quoteOutput(text: string): string {
  return JSON.stringify(text.trim().split("\n")[0]?.slice(0, shownLength));
}

const shownLength = 80;
