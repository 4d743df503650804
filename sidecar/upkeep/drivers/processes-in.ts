import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import { sep } from "node:path";

/**
 * Processes that are seen to run in a directory or from a program in it, other than the sidecar and what it has begun itself. Empty, too, where
 * processes can't be seen: on another system than Linux, or those of another user.
 */
export async function processesIn(directory: string): Promise<readonly number[]> {
  const place = await realpath(directory).catch(() => directory);
  const isInside = (path: string) => path === place || path.startsWith(place + sep);
  const pids = (await readdir("/proc").catch(() => [])).filter((entry) => /^\d+$/.test(entry));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const places = await Promise.all(["cwd", "exe"].map((link) => readlink(`/proc/${pid}/${link}`).catch(() => "")));
      return places.some(isInside) && !(await isOwn(pid)) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

/** Whether it is the sidecar, or a program that it has begun, such as node_cli. */
async function isOwn(pid: string): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  // One that has ended meanwhile says nothing any more.
  if (status === "") return true;
  return Number(pid) === process.pid || Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]) === process.pid;
}
