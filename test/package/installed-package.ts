import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../style/rooms.ts";
import { makeConsumerFolder, type ConsumerFolder } from "./consumer-folder.ts";
import { quietInstall } from "./package-managers.ts";

const run = promisify(execFile);

/** A file of the tarball, as npm lists it. */
export type PackedFile = Readonly<{ path: string; size: number }>;

/** The package as a stranger has it: packed, and installed by npm in an empty folder that knows nothing of the repository. */
export type InstalledPackage = AsyncDisposable &
  ConsumerFolder &
  Readonly<{
    /** What was packed; SBOM and checksums are in the same folder. */
    tarball: string;
    files: readonly PackedFile[];
    unpackedBytes: number;
  }>;

const artifactsDeadlineMs = 700_000;
const npmDeadlineMs = 400_000;

/** Makes the artifacts of a release, and installs the tarball. That takes a minute on a free machine. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-package-")));
  const { stdout } = await run(join(root, ".ci/release"), ["artifacts", folder], {
    cwd: root,
    timeout: artifactsDeadlineMs,
  });
  const packed = packedOf(stdout);
  const tarball = join(folder, packed.filename);
  const consumer = await makeConsumerFolder(join(folder, "consumer"), tarball);
  await run("npm", [...quietInstall, "--loglevel=error"], { cwd: consumer.folder, timeout: npmDeadlineMs });
  return {
    ...consumer,
    tarball,
    files: packed.files,
    unpackedBytes: packed.unpackedSize,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

type Packed = Readonly<{ filename: string; unpackedSize: number; files: readonly PackedFile[] }>;

/** npm 12 lists packages by name, earlier ones in a list. */
function packedOf(json: string): Packed {
  const listed = JSON.parse(json.slice(json.search(/^[[{]/m))) as Record<string, Packed>;
  const [packed] = Object.values(listed);
  if (packed === undefined) throw new Error(`npm pack lists no package: ${json.slice(0, 300)}`);
  return packed;
}
