import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Package managers besides npm, in the versions that the package is installed by. */
export const managerVersions = { pnpm: "12.21.0", bun: "1.4.5" } as const;

/** A package manager besides npm. */
export type ManagerName = keyof typeof managerVersions;

/** A package manager that is there. */
export type PackageManager = Readonly<{
  /** Its program. */
  program: string;
  /** Installs what a folder's package.json names; no package's own script runs. */
  install: (folder: string) => Promise<void>;
}>;

const installDeadlineMs = 400_000;

/** Arguments by which npm installs without requesting anything else. */
export const quietInstall = ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"] as const;

/**
 * Fetches a package manager by npm, and keeps it and all that it caches below a folder.
 *
 * @param name `pnpm` or `bun`, the package's name and the program's.
 */
export async function fetchManager(name: ManagerName, folder: string): Promise<PackageManager> {
  const home = join(folder, name);
  await mkdir(home);
  await writeFile(join(home, "package.json"), '{ "private": true }');
  const version = `${name}@${managerVersions[name]}`;
  const limits = { cwd: home, timeout: installDeadlineMs };
  await run("npm", [...quietInstall, "--loglevel=error", version], limits);
  // Puts the program of this platform, an optional dependency, in the place of the package's stand-in. npm runs it unasked, or not, by its version.
  await run(process.execPath, [join(home, "node_modules", name, "install.js")], limits);
  const program = join(home, "node_modules/.bin", name);
  const caches = { pnpm: ["--store-dir", join(home, "cache")], bun: ["--cache-dir", join(home, "cache")] };
  return {
    program,
    install: async (cwd) => {
      await run(program, ["install", "--ignore-scripts", ...caches[name]], { cwd, timeout: installDeadlineMs });
    },
  };
}
