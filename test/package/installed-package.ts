import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { runInTurn } from "../support/run-in-turn.ts";
import { makeArtifacts, type Artifacts } from "./artifacts.ts";
import { makeConsumerFolder, openConsumerFolder, type ConsumerFolder } from "./consumer-folder.ts";
import { quietInstall } from "./package-managers.ts";

const run = promisify(execFile);

/** The package as users install it: packed, and installed by npm in an empty directory outside the repository. */
export type InstalledPackage = ConsumerFolder & Readonly<{ artifacts: Artifacts }>;

const npmDeadlineMs = 400_000;

/**
 * Builds a release's artifacts below a directory, and installs the tarball there, unless another process has; if one is
 * doing so, waits for it.
 */
export async function installPackage(artifactsDirectory: string): Promise<InstalledPackage> {
  const artifacts = await makeArtifacts(artifactsDirectory);
  const folder = join(artifactsDirectory, "consumer");
  const stamp = join(artifactsDirectory, "installed");
  await runInTurn(join(artifactsDirectory, "install.turn"), npmDeadlineMs, async () => {
    if (existsSync(stamp)) return;
    await makeConsumerFolder(folder, artifacts.tarball);
    await run("npm", [...quietInstall, "--loglevel=error"], { cwd: folder, timeout: npmDeadlineMs });
    await writeFile(stamp, "");
  });
  return { ...openConsumerFolder(folder), artifacts };
}
