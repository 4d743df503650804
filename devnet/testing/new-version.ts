import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatLauncher, type LauncherName } from "../workspace/launcher.ts";
import { locateWorkspace } from "../workspace/workspace.ts";
import { releaseFile, type DevnetRelease } from "../workspace/node-parameters.ts";

export type NewVersion =
  /** Runs. */
  | "good"
  /** Start command fails. */
  | "broken"
  /** Starts, corrupts the chain's data, and exits. */
  | "corrupting";

/** Shell lines that the version's `ops start` runs first, in the workspace's bin directory. */
const beforeStart: Partial<Readonly<Record<NewVersion, readonly string[]>>> = {
  broken: ['echo "ops: libcetina.so.3: cannot open shared object file" >&2', "exit 127"],
  corrupting: [
    'find ../data -type f | while read -r file; do printf ruined > "$file"; done',
    'echo "ops: the storage engine is corrupt" >&2',
    "exit 1",
  ],
};

/** Creates a release of a devnet node in a new directory; returns the directory. */
export async function makeRelease(directory: string, version: string, kind: NewVersion): Promise<string> {
  await mkdir(directory, { recursive: true });
  const release: DevnetRelease = { version };
  await writeFile(join(directory, releaseFile), JSON.stringify(release));
  const start = (beforeStart[kind] ?? []).map((line) => `  ${line}`);
  await writeProgram(directory, "ops", version, ['if [ "$1" = start ]; then', "  :", ...start, "fi"]);
  const reportedByTool = ['if [ "$1" = --version ]; then', `  echo "node_cli v${version}"`, "  exit 0", "fi"];
  await writeProgram(directory, "node_cli", version, reportedByTool);
  return directory;
}

async function writeProgram(
  directory: string,
  name: LauncherName,
  version: string,
  first: readonly string[],
): Promise<void> {
  const place = locateWorkspace({ directory: "/", version, nodeDirectory: "node" });
  const [shebang = "", ...lines] = formatLauncher(name, place).split("\n");
  await writeFile(join(directory, name), [shebang, ...first, ...lines].join("\n"), { mode: 0o755 });
}
