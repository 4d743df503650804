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
} from "#node/versions.ts";
import { chooseVersionProgram, runLocalTool } from "../drivers/node-cli.ts";
import type { ReleaseFile } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { findRealPath } from "./data/data-stores.ts";
import { findOtherFile, listRelease } from "./program-files.ts";
import type { UpgradeRequest } from "./requested-upgrade.ts";
import type { UpgradeContext } from "./upgrade-context.ts";

export type NewRelease = Readonly<{ files: readonly ReleaseFile[]; to: ProgramIdentity }>;

/** @throws {UpgradeError} if the programs can't be installed or identified. */
export async function readRelease(request: UpgradeRequest, context: UpgradeContext): Promise<NewRelease> {
  const files = await listFiles(request.source, context);
  return { files, to: await identifyRelease(request, files, context) };
}

/** Explains why new programs can't replace those of the version `from`; undefined if they can. */
export async function explainNoUpgrade(
  from: ProgramIdentity,
  { to, files }: NewRelease,
  binDirectory: string,
): Promise<string | undefined> {
  const comparison = compareProgram(from, to);
  if (comparison === "same") return `the node is ${nameProgram(from)} already`;
  const [old, next] = [from.version, to.version];
  if (old !== undefined && next !== undefined && findRelease(old).layout !== findRelease(next).layout) {
    return `the workspace of ${next.text} has a different layout from that of ${old.text}; follow its release notes: this upgrade only replaces binaries`;
  }
  // If neither version nor commit distinguishes the programs, their content must.
  if (comparison === "other" || (await findOtherFile(files, binDirectory)) !== undefined) return undefined;
  return `${binDirectory} has these binaries already, each with the same SHA-256`;
}

/** @throws {UpgradeError} if the release can't be installed. */
async function listFiles(source: string, { place }: UpgradeContext): Promise<readonly ReleaseFile[]> {
  const { binDirectory, family } = place.layout();
  if (!isAbsolute(source))
    throw new UpgradeError(
      `${source} is not an absolute path; specify the directory's absolute path on the sidecar's machine`,
    );
  if ((await findRealPath(source)) === (await findRealPath(binDirectory))) {
    throw new UpgradeError(
      `${source} is the node's bin directory, whose binaries would be lost before they are saved; unpack the release into its own directory`,
    );
  }
  return listRelease(source, nameConfigFile(family));
}

/** @throws {UpgradeError} if the release reports no version and the request has none, or they differ. */
async function identifyRelease(
  { source, version: given }: UpgradeRequest,
  files: readonly ReleaseFile[],
  { settings, place, commits, signal }: UpgradeContext,
): Promise<ProgramIdentity> {
  const { family } = place.layout();
  const requested = given === undefined ? undefined : parseNodeVersion(given);
  if (given !== undefined && requested === undefined) {
    throw new UpgradeError(`"${given}" is not a version; expected one such as 0.16.2`);
  }
  const command = chooseVersionProgram(family, settings.nodeCli.command);
  const limits = { ...settings.nodeCli, passes: settings.node.environment };
  const tool = { directory: source, command, preload: family.preload };
  const entryExists = files.some(({ name }) => name === command);
  const said = entryExists ? await runLocalTool(limits, tool, ["--version"], signal) : undefined;
  const versionOutput =
    said?.ok === true
      ? identifyProgram(said.output, (text) => parseNodeCliVersion(text, command), commits())
      : undefined;
  if (
    versionOutput?.version !== undefined &&
    requested !== undefined &&
    versionOutput.version.release !== requested.release
  ) {
    throw new UpgradeError(
      `${source} has the binaries of ${versionOutput.version.text} (${command} --version), not those of ${requested.text}`,
    );
  }
  if (versionOutput === undefined && family.versionedBy === "commit")
    throw explainNoCommit(join(source, command), said);
  const to = { ...versionOutput, version: versionOutput?.version ?? requested };
  if (to.version !== undefined || to.commit !== undefined) return to;
  throw new UpgradeError(`${source} does not report its version; specify it: --node-version`);
}

function explainNoCommit(program: string, said: ProcessResult | undefined): UpgradeError {
  if (said === undefined) {
    return new UpgradeError(`${program} is missing; specify the directory with the release's binaries`);
  }
  const why = said.ok ? `printed ${JSON.stringify(said.output.slice(0, 80))}, which is not a commit` : said.message;
  return new UpgradeError(
    `${program} --version does not identify these binaries (${why}); a node that runs them could not be verified`,
  );
}
