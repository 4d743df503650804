import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { runInTurn } from "../support/run-in-turn.ts";
import { root } from "../style/rooms.ts";

const run = promisify(execFile);
const deadlineMs = 700_000;

/** A file of the tarball, as listed by npm. */
export type PackedFile = Readonly<{ path: string; size: number }>;

/** The artifacts of a release. */
export type Artifacts = Readonly<{
  /** Directory of the tarball, the SBOM and the checksums. */
  directory: string;
  tarball: string;
  files: readonly PackedFile[];
  unpackedBytes: number;
}>;

/**
 * Builds a release's artifacts below a directory, unless another process has; if one is building them, waits for it.
 */
export async function makeArtifacts(folder: string): Promise<Artifacts> {
  const directory = join(folder, "release");
  const listing = join(folder, "listing.json");
  await runInTurn(join(folder, "turn"), deadlineMs, async () => {
    if (existsSync(listing)) return;
    await mkdir(directory, { recursive: true });
    const { stdout } = await run(join(root, ".ci/release"), ["artifacts", directory], {
      cwd: root,
      timeout: deadlineMs,
    });
    await writeFile(listing, stdout);
  });
  const packed = parsePacked(await readFile(listing, "utf8"));
  return {
    directory,
    tarball: join(directory, packed.filename),
    files: packed.files,
    unpackedBytes: packed.unpackedSize,
  };
}

type PackageListing = Readonly<{ filename: string; unpackedSize: number; files: readonly PackedFile[] }>;

/** Parses the package listing; npm 12 lists packages by name, earlier versions in an array. */
function parsePacked(json: string): PackageListing {
  const listed = JSON.parse(json.slice(json.search(/^[[{]/m))) as Record<string, PackageListing>;
  const [packed] = Object.values(listed);
  if (packed === undefined) throw new Error(`npm pack lists no package: ${json.slice(0, 300)}`);
  return packed;
}
