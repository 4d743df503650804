import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** Directory for the images' dependencies, relative to the root of the repository; `.dockerignore` includes it in the build context. */
export const dependenciesDirectory = ".gatehouse/images";

/** Version of the installation procedure: increment it whenever the same lock file yields different files. */
const recipe = "3";

const installDeadlineMs = 600_000;

/**
 * Directories in the Gatehouse image that the service's user owns, with their modes; volumes inherit both. They are group-writable because
 * the sidecar of a real node runs as the user of the node's image, in this group.
 */
const ownedDirectories: Readonly<Record<string, number>> = {
  "run/files": 0o770,
  "run/incoming": 0o770,
  "run/engine": 0o770,
  "run/bin": 0o770,
  state: 0o770,
  workspace: 0o770,
};

/** npm could not install the images' dependencies; nothing was changed. The message is ready to print. */
export class ImageDependenciesError extends Error {
  override readonly name = "ImageDependenciesError";
}

export type RequestedImages = Readonly<{
  /** Without `devnet`, the devnet's EVM is not installed. */
  images: readonly ("gatehouse" | "devnet")[];
  /** Architecture of the engine or cluster that runs the images, independent of this machine's architecture. */
  architecture: ImageArchitecture;
}>;

/**
 * Installs the images' dependencies on this machine for the builds to copy: the services' production dependencies, and the devnet's EVM. A
 * build then needs no npm, network or shell, and no registry address or credential can end up in a layer. `npm ci` checks every package
 * against the hashes in the lock file. Does nothing if the lock file is already installed. This file and its imports need only Node, so
 * that it runs in a clone without installed dependencies.
 *
 * @throws {ImageDependenciesError} with npm's own message if the installation fails.
 */
export function installImageDependencies(root: string, { images, architecture }: RequestedImages): void {
  if (images.length === 0) return;
  const target = join(root, dependenciesDirectory);
  const wanted = computeRevision(root, architecture);
  const stamp = join(target, "revision");
  const directories = images.includes("devnet") ? ["gatehouse", "devnet"] : ["gatehouse"];
  const entryExists = directories.every((directory) => existsSync(join(target, directory)));
  if (entryExists && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  mkdirSync(join(root, ".gatehouse"), { recursive: true });
  const staged = mkdtempSync(join(root, ".gatehouse/images-"));
  try {
    const cpu = npmArchitectures[architecture];
    installServices(root, join(staged, "gatehouse"), cpu);
    if (images.includes("devnet")) installEvm(root, join(staged, "devnet"), cpu);
    for (const [path, mode] of Object.entries(ownedDirectories)) {
      mkdirSync(join(staged, "owned", path), { recursive: true });
      chmodSync(join(staged, "owned", path), mode);
    }
    writeFileSync(join(staged, "revision"), wanted);
    chmodSync(staged, 0o755);
    replaceDirectory(staged, target);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/**
 * Replaces a directory with another. If two programs install the same dependencies concurrently, the one that finishes later leaves the
 * directory unchanged.
 */
function replaceDirectory(staged: string, target: string): void {
  rmSync(target, { recursive: true, force: true });
  try {
    renameSync(staged, target);
  } catch (error) {
    if (!existsSync(join(target, "revision"))) throw error;
  }
}

function computeRevision(root: string, architecture: ImageArchitecture): string {
  const hash = createHash("sha256").update(recipe).update(architecture);
  for (const file of ["package.json", "package-lock.json"]) hash.update(readFileSync(join(root, file)));
  return hash.digest("hex");
}

function installServices(root: string, directory: string, cpu: string): void {
  mkdirSync(directory);
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(root, file), join(directory, file));
  runNpmCi(directory, [`--cpu=${cpu}`, "--omit=dev", "--omit=optional", "--omit=peer"]);
  keepShipped(join(directory, "node_modules"), "");
}

type Lock = Readonly<{
  lockfileVersion: number;
  packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}>;

/** Installs the EVM, a development dependency, from its own entries in the lock file. */
function installEvm(root: string, directory: string, cpu: string): void {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const packages = Object.fromEntries(
    Object.entries(lock.packages).filter(([path]) => path.startsWith("node_modules/@foundry-rs/")),
  );
  const version = lock.packages["node_modules/@foundry-rs/anvil"]?.["version"];
  const manifest = { name: "devnet", version: "0.0.0", dependencies: { "@foundry-rs/anvil": version } };
  mkdirSync(directory);
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
  const ownLock = { ...manifest, lockfileVersion: lock.lockfileVersion, packages: { "": manifest, ...packages } };
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify(ownLock));
  runNpmCi(directory, [`--cpu=${cpu}`]);
  keepShipped(join(directory, "node_modules"), "");
}

function runNpmCi(directory: string, options: readonly string[]): void {
  const platform = ["--os=linux", "--libc=glibc"];
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  try {
    execFileSync("npm", ["ci", ...platform, ...quiet, ...options], {
      cwd: directory,
      stdio: ["ignore", "ignore", "pipe"],
      timeout: installDeadlineMs,
    });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer };
    const reason = stderr === undefined || stderr.length === 0 ? message : stderr.toString().trim().slice(-2_000);
    throw new ImageDependenciesError(
      `the images' dependencies could not be installed from package-lock.json; nothing was changed. Output of \`npm ci\`:\n${reason}\nCheck that npm is on the PATH and reaches its registry, or use prebuilt images with gatehouseImage and devnetImage.`,
    );
  }
}

/** Removes files that no program reads, and makes the rest readable for the images' user, independent of this machine's umask. */
function keepShipped(root: string, inner: string): void {
  for (const entry of readdirSync(join(root, inner), { withFileTypes: true })) {
    const path = inner === "" ? entry.name : `${inner}/${entry.name}`;
    const full = join(root, path);
    if (!entry.isSymbolicLink() && !isShipped(path, entry.isDirectory())) rmSync(full, { recursive: true });
    else if (entry.isDirectory()) {
      chmodSync(full, 0o755);
      keepShipped(root, path);
      if (readdirSync(full).length === 0) rmdirSync(full);
    } else if (entry.isFile()) chmodSync(full, (statSync(full).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** Directories at the root of a package that contain its own tests and documents. */
const unshippedDirectory = /^(test|tests|__tests__|bench|benchmark|benchmarks|docs|example|examples|\.github)$/;

/** Files used only by editors, debuggers and readers, and TypeScript files: Node does not strip types under node_modules. */
const unshippedFile = /\.(map|md|markdown|tsbuildinfo|ts|mts|cts)$/i;

/**
 * Whether a file or directory in `node_modules` belongs in an image. Excludes files that Node can't load: tests, documents, source maps,
 * type declarations and TypeScript. Licences are included.
 *
 * @param path relative to `node_modules`, with `/`.
 */
export function isShipped(path: string, isDirectory: boolean): boolean {
  const inner = (path.split("node_modules/").at(-1) ?? path).split("/");
  const name = inner.at(-1) ?? "";
  const depthInPackage = inner.length - (inner[0]?.startsWith("@") === true ? 2 : 1);
  if (isDirectory) return name !== ".bin" && !(depthInPackage === 1 && unshippedDirectory.test(name));
  if (name === ".package-lock.json") return false;
  return /^licen[cs]e/i.test(name) || !unshippedFile.test(name);
}

/** npm's names for the images' architectures, keyed by Docker's names. */
const npmArchitectures = { amd64: "x64", arm64: "arm64" } as const;

export type ImageArchitecture = keyof typeof npmArchitectures;

export const imageArchitectures = Object.keys(npmArchitectures) as readonly ImageArchitecture[];

/** Looks up an architecture by Docker's or Node's name; returns `undefined` if no image is built for it. */
export function findImageArchitecture(name: string | undefined): ImageArchitecture | undefined {
  return imageArchitectures.find((known) => name === known || name === npmArchitectures[known]);
}
