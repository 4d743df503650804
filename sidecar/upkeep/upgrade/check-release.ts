import { isAbsolute, join } from "node:path";
import type { ProcessResult } from "#daemon/process/bounded-process.ts";
import { nameConfigFile } from "#node/families.ts";
import {
  compareProgram,
  identifyProgram,
  nameProgram,
  parseNodeCliVersion,
  parseNodeVersion,
  findRelease,
  type ProgramIdentity,
  type ReleaseCommits,
} from "#node/versions.ts";
import type { NodeLayout } from "#node/layout.ts";
import type { SidecarSettings } from "../../settings.ts";
import { nameVersionProgram, runLocalTool } from "../drivers/node-cli.ts";
import { findRealPath } from "./data/data-stores.ts";
import { listRelease, ReleaseError } from "./program-files.ts";

/** Request for an upgrade: the absolute path of the new programs, and their version, which is required if they don't report it. */
export type UpgradeRequest = Readonly<{ source: string; version?: string | undefined }>;

type CheckReleaseDependencies = Readonly<{
  settings: Pick<SidecarSettings, "node" | "nodeCli">;
  /** The node's family, and the directory that contains its current programs. */
  layout: Pick<NodeLayout, "family" | "binDirectory">;
  commits: () => ReleaseCommits;
  signal: AbortSignal;
}>;

/** Determines why a node can't be upgraded from one version to another. Pure. */
export function findVersionProblems(from: ProgramIdentity, to: ProgramIdentity | undefined): readonly string[] {
  if (from.version === undefined && from.commit === undefined) {
    return ["the version that runs now is not known (VersionConsistent says what to set)"];
  }
  if (to === undefined) return [];
  if (compareProgram(from, to) === "same") return [`the node is ${nameProgram(from)} already`];
  if (from.version === undefined || to.version === undefined) return [];
  if (findRelease(from.version).layout === findRelease(to.version).layout) return [];
  return [
    `${to.version.text} has another layout of the workspace than ${from.version.text}; move the node by its release notes, as an upgrade here replaces programs in one place`,
  ];
}

/** Lists and identifies the new programs; on failure, returns the problem as text. */
export async function readRelease(
  { source, version: givenVersion }: UpgradeRequest,
  { settings, layout: { binDirectory, family }, commits, signal }: CheckReleaseDependencies,
) {
  if (!isAbsolute(source)) return `${source} is not an absolute path`;
  if ((await findRealPath(source)) === (await findRealPath(binDirectory))) {
    return `${source} is the node's bin directory, whose programs would be gone before they are kept; unpack the release into its own directory`;
  }
  try {
    const files = await listRelease(source, nameConfigFile(family));
    const wanted = givenVersion === undefined ? undefined : parseNodeVersion(givenVersion);
    if (givenVersion !== undefined && wanted === undefined)
      return `"${givenVersion}" is not a version; expected one such as 0.16.2`;
    const command = nameVersionProgram(family, settings.nodeCli.command);
    const said = files.some(({ name }) => name === command)
      ? await runLocalTool(
          { ...settings.nodeCli, passes: settings.node.environment },
          { directory: source, command, preload: family.preload },
          ["--version"],
          signal,
        )
      : undefined;
    const printed =
      said?.ok === true
        ? identifyProgram(said.output, (text) => parseNodeCliVersion(text, command), commits())
        : undefined;
    if (printed?.version !== undefined && wanted !== undefined && printed.version.release !== wanted.release) {
      return `${source} has the programs of ${printed.version.text} (${command} --version), not of ${wanted.text}`;
    }
    if (printed === undefined && family.versionedBy === "commit") return explainNoCommit(join(source, command), said);
    const to = { ...printed, version: printed?.version ?? wanted };
    return to.version === undefined && to.commit === undefined
      ? `${source} does not report its version; give it: --node-version`
      : { files, to };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return error.message;
  }
}

function explainNoCommit(program: string, said: ProcessResult | undefined): string {
  if (said === undefined) return `${program} is missing; name the directory with the release's programs`;
  const why = said.ok ? `printed ${JSON.stringify(said.output.slice(0, 80))}, which is no commit` : said.message;
  return `${program} --version does not show which programs these are (${why}); a node that runs them could not be verified`;
}
