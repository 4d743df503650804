import { execFile } from "node:child_process";
import { cp, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../style/rooms.ts";

const run = promisify(execFile);

/** What a program printed and how it ended. */
export type Ended = Readonly<{ status: number; stdout: string; stderr: string }>;

/** A file of the tarball, as npm lists it. */
export type PackedFile = Readonly<{ path: string; size: number }>;

/** The package as a stranger has it: packed, and installed by npm in an empty folder that knows nothing of the repository. */
export type InstalledPackage = AsyncDisposable &
  Readonly<{
    /** The folder with the consumer's package.json. */
    folder: string;
    /** The installed package. */
    directory: string;
    /** What was packed; SBOM and checksums are in the same folder. */
    tarball: string;
    files: readonly PackedFile[];
    unpackedBytes: number;
    /** Runs a program by its file, in the folder, with a clean environment but for PATH and what is given. */
    run: (program: string, args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>;
    /** Runs the installed `gatehouse`. */
    gatehouse: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>;
  }>;

/** What the consumer needs besides the package: compiler, types, and the optional peers, in the versions that the repository has. */
const besides = [
  "@foundry-rs/anvil",
  "@pulumi/docker",
  "@pulumi/kubernetes",
  "@pulumi/policy",
  "@pulumi/pulumi",
  "@types/node",
  "typescript",
] as const;

const npmDeadlineMs = 400_000;
const runDeadlineMs = 280_000;

/** Makes the artifacts of a release, and installs the tarball. That takes half a minute on a free machine. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-package-")));
  const consumer = join(folder, "consumer");
  await cp(join(root, "test/package/consumer"), consumer, { recursive: true });
  const { stdout } = await run(join(root, ".ci/release"), ["artifacts", folder], { cwd: root, timeout: npmDeadlineMs });
  const packed = packedOf(stdout);
  const tarball = join(folder, packed.filename);
  const devDependencies = Object.fromEntries(besides.map((name) => [name, packageJson.devDependencies[name]]));
  const manifest = {
    name: "consumer",
    private: true,
    dependencies: { "gatehouse-evm": `file:${tarball}` },
    devDependencies,
  };
  await writeFile(join(consumer, "package.json"), JSON.stringify(manifest));
  const quiet = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...quiet], { cwd: consumer, timeout: npmDeadlineMs });
  const start = async (program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    ended(program, args, { cwd: consumer, env: { PATH: pathOfThisNode(), ...env } });
  return {
    folder: consumer,
    directory: join(consumer, "node_modules/gatehouse-evm"),
    tarball,
    files: packed.files,
    unpackedBytes: packed.unpackedSize,
    run: start,
    gatehouse: (args, env) => start(join(consumer, "node_modules/.bin/gatehouse"), args, env),
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

/** `node` is the one that runs this, whatever else is on the PATH. */
function pathOfThisNode(): string {
  return [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
}

async function ended(
  program: string,
  args: readonly string[],
  options: Readonly<{ cwd: string; env: Record<string, string> }>,
): Promise<Ended> {
  try {
    const { stdout, stderr } = await run(program, [...args], { ...options, timeout: runDeadlineMs });
    return { status: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as Readonly<{ code?: unknown; stdout?: string; stderr?: string }>;
    if (typeof code !== "number") throw error;
    return { status: code, stdout, stderr };
  }
}
