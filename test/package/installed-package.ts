import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeArtifacts, type Artifacts } from "./artifacts.ts";
import { makeConsumerFolder, type ConsumerFolder } from "./consumer-folder.ts";
import { quietInstall } from "./package-managers.ts";

const run = promisify(execFile);

/** The package as a stranger has it: packed, and installed by npm in an empty folder that knows nothing of the repository. */
export type InstalledPackage = AsyncDisposable & ConsumerFolder & Readonly<{ artifacts: Artifacts }>;

const npmDeadlineMs = 400_000;

/** Makes the artifacts of a release below a folder, unless they are there, and installs the tarball in another folder. */
export async function installPackage(artifactsDirectory: string): Promise<InstalledPackage> {
  const artifacts = await makeArtifacts(artifactsDirectory);
  const folder = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-package-")));
  const consumer = await makeConsumerFolder(join(folder, "consumer"), artifacts.tarball);
  await run("npm", [...quietInstall, "--loglevel=error"], { cwd: consumer.folder, timeout: npmDeadlineMs });
  return { ...consumer, artifacts, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
