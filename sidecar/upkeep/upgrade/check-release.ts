import { isAbsolute } from "node:path";
import { parseNodeCliVersion, parseNodeVersion, findRelease, type NodeVersion } from "#node/versions.ts";
import type { NodeLayout } from "#node/layout.ts";
import type { SidecarSettings } from "../../settings.ts";
import { createLocalNodeCli, createNodeCli } from "../drivers/node-cli.ts";
import { findRealPath } from "./data/data-stores.ts";
import { listRelease, ReleaseError } from "./program-files.ts";

/** Request for an upgrade: the absolute path of the new programs, and their version, which is needed if they do not report it. */
export type UpgradeRequest = Readonly<{ source: string; version?: string | undefined }>;

type CheckReleaseDependencies = Readonly<{
  settings: Pick<SidecarSettings, "node" | "nodeCli">;
  /** Family of the node, and directory of its present programs. */
  layout: Pick<NodeLayout, "family" | "binDirectory">;
  signal: AbortSignal;
}>;

/** Finds why a node can't go from one version to another. Pure. */
export function findVersionProblems(from: NodeVersion | undefined, to: NodeVersion | undefined): readonly string[] {
  if (from === undefined) return ["the version that runs now is not known (VersionAgreed says what to set)"];
  if (to === undefined) return [];
  if (from.release === to.release) return [`the node is ${from.text} already`];
  if (findRelease(from).layout === findRelease(to).layout) return [];
  return [
    `${to.text} has another layout of the workspace than ${from.text}; move the node by its release notes, as an upgrade here replaces programs in one place`,
  ];
}

/** Lists the new programs and finds their version; returns the problem in words if that can't be done. */
export async function readRelease(
  { source, version: givenVersion }: UpgradeRequest,
  { settings, layout: { binDirectory, family }, signal }: CheckReleaseDependencies,
) {
  if (!isAbsolute(source)) return `${source} is not an absolute path`;
  if ((await findRealPath(source)) === (await findRealPath(binDirectory))) {
    return `${source} is the node's bin directory, whose programs would be gone before they are kept; unpack the release into its own directory`;
  }
  try {
    const files = await listRelease(source);
    const command = settings.nodeCli.command ?? family.programs.tool;
    const hasTool = files.some(({ name }) => name === command);
    const tool = createNodeCli(
      () => ({ takesConfig: true, configArgument: "" }),
      createLocalNodeCli({ ...settings.nodeCli, passes: settings.node.environment }, () => ({
        directory: source,
        command,
      })),
    );
    const said = hasTool ? await tool.version(signal) : undefined;
    const printed = said?.ok === true ? parseNodeCliVersion(said.value, command) : undefined;
    const wanted = givenVersion === undefined ? undefined : parseNodeVersion(givenVersion);
    if (givenVersion !== undefined && wanted === undefined)
      return `"${givenVersion}" is not a version; expected one such as 0.16.2`;
    if (printed !== undefined && wanted !== undefined && printed.release !== wanted.release) {
      return `${source} has the programs of ${printed.text} (${command} --version), not of ${wanted.text}`;
    }
    const to = printed ?? wanted;
    return to === undefined ? `${source} does not report its version; give it: --node-version` : { files, to };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return error.message;
  }
}
