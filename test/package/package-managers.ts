import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Package managers other than npm, in the tested versions. */
export const managerVersions = { pnpm: "12.21.0", bun: "1.4.5" } as const;

/** A package manager other than npm. */
export type ManagerName = keyof typeof managerVersions;

/** An installed package manager. */
export type PackageManager = Readonly<{
  /** Its program. */
  program: string;
  /** Installs the dependencies of a directory's package.json; no package's own script runs. */
  install: (folder: string) => Promise<void>;
}>;

const installDeadlineMs = 400_000;

/** Arguments with which npm installs without audit and funding requests. */
export const quietInstall = ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"] as const;

/**
 * Downloads a package manager with npm, and keeps it and its caches below a directory.
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
  // Replaces the package's placeholder with this platform's program, an optional dependency. Only some versions of npm run this script
  // themselves.
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
