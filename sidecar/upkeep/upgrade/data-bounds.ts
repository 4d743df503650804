import { readFile, realpath } from "node:fs/promises";
import { sep } from "node:path";
import { runProcess } from "#daemon/bounded-process.ts";

export type DataBoundsDependencies = Readonly<{
  timeoutMs: number;
  signal: AbortSignal;
  /** The mounts of this process, as Linux tells them (proc_pid_mountinfo(5)). */
  mountsPath?: string;
}>;

/** Names of links that are looked at: a node's data have few, if any. */
const linksBytesMax = 1_048_576;

/** Whether a path is a directory or stands in it; both are real paths. Pure. */
export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}

/** The real path of what may not be there, to compare with another. */
export async function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/**
 * Why directories of data can't be copied and put back as a whole: another file system is mounted there, or a link leads out of them, to data that the new
 * version would change and nobody would put back.
 */
export async function whyNotWhole(
  paths: readonly string[],
  { timeoutMs, signal, mountsPath = "/proc/self/mountinfo" }: DataBoundsDependencies,
): Promise<string | undefined> {
  // Not on Linux: that the directory itself is a mount is told by its device.
  const mounts = mountPoints(await readFile(mountsPath, "utf8").catch(() => ""));
  for (const path of paths) {
    const mount = mounts.find((point) => isInside(point, path));
    if (mount === path) return ownMountWords(path);
    if (mount !== undefined)
      return `${mount} is mounted in the data directory ${path}, which is put back as a whole; keep all data on one file system`;
    const command = ["find", path, "-type", "l", "-print0"] as const;
    const found = await runProcess({
      command: [...command],
      directory: "/",
      timeoutMs,
      outputLimitBytes: linksBytesMax,
      signal,
    });
    if (!found.ok) return `${path} can't be searched for links that lead out of it: ${found.message}`;
    for (const link of found.output.split("\0").filter(Boolean)) {
      // A link to nothing leads to no data.
      const target = await realpath(link).catch(() => undefined);
      if (target !== undefined && !paths.some((each) => isInside(target, each))) {
        return `${link} leads out of the data directory ${path}, to ${target}, which is not copied; move that into the data directory`;
      }
    }
  }
  return undefined;
}

/** Why data that are a mount can't be put back. */
export function ownMountWords(path: string): string {
  return `${path} is a mount of its own, so that no copy can be put in its place; keep the data in a directory below the mount`;
}

/** The fifth field of each line; what would part fields stands there as an octal escape. Pure. */
function mountPoints(table: string): readonly string[] {
  return table
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? [])
    .map((point) =>
      point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8))),
    );
}
