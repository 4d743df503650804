import { lstat, readlink } from "node:fs/promises";
import { dirname, join, parse, resolve } from "node:path";

/** How many links a path may lead through (Linux, path_resolution(7)). */
const linksMax = 40;

/**
 * When a symbolic link on the way to a file last changed (`ctime`, milliseconds since 1970); 0 where there is none. A link that was made to point
 * elsewhere changes what stands at the path, and leaves the times of the file behind it as they were.
 */
export async function linksChangedAt(path: string): Promise<number> {
  let changedAtMs = 0;
  let links = 0;
  let { root: walked } = parse(resolve(path));
  const names = namesOf(resolve(path));
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const here = join(walked, name);
    const stats = await lstat(here).catch(() => undefined);
    // What is not there, or not to be looked at, is told by the reading itself.
    if (stats === undefined || links > linksMax) return changedAtMs;
    if (!stats.isSymbolicLink()) {
      walked = here;
      continue;
    }
    links += 1;
    changedAtMs = Math.max(changedAtMs, stats.ctimeMs);
    const target = resolve(dirname(here), await readlink(here));
    walked = parse(target).root;
    names.unshift(...namesOf(target));
  }
  return changedAtMs;
}

function namesOf(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split("/")
    .filter((name) => name !== "");
}
