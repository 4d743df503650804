import { hash } from "node:crypto";
import { lstat, readlink } from "node:fs/promises";
import { dirname, join, parse, resolve } from "node:path";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { readRegularFile, RegularFileError, type RegularFile } from "#daemon/files/regular-file.ts";
import { parseConfig, type ConfigDocument } from "#node/conf/document.ts";
import type { ConfigProblem } from "#node/conf/problem.ts";

/** One read of node.conf. `changedAtMs`: time of the last change to the file or to a link that leads to it (`ctime`, milliseconds since 1970). */
export type ConfigReading =
  | UsableReading
  /** Hash, bytes and time are absent if there was no readable content. */
  | Readonly<{ ok: false; problem: ConfigProblem; contentHash?: string; bytes?: Uint8Array; changedAtMs?: number }>;

export type UsableReading = Readonly<{
  ok: true;
  document: ConfigDocument;
  bytes: Uint8Array;
  contentHash: string;
  changedAtMs: number;
}>;

export function hashContent(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

export async function readConfigFile(path: string, limitBytes: number): Promise<ConfigReading> {
  let file: RegularFile;
  try {
    file = await readRegularFile(path, limitBytes);
  } catch (cause) {
    return buildFailedReading(path, limitBytes, cause);
  }
  const { bytes } = file;
  const changedAtMs = Math.max(file.changedAtMs, await readLastLinkChange(path));
  const contentHash = hashContent(bytes);
  const parsed = parseConfig(bytes);
  if (parsed.ok) return { ok: true, document: parsed.document, bytes, contentHash, changedAtMs };
  const { line, column } = parsed.problem;
  const location = line === undefined ? path : `${path}:${line}:${column}`;
  const problem = { ...parsed.problem, message: `${location} ${parsed.problem.message}` };
  return { ok: false, problem, contentHash, bytes, changedAtMs };
}

/** Reads node.conf like {@link readConfigFile}, but reports a hung file system as a problem. */
export async function readConfigWithDeadline(
  path: string,
  limitBytes: number,
  fileDeadline: FileDeadline,
): Promise<ConfigReading> {
  try {
    return await fileDeadline.call(`reading ${path}`, () => readConfigFile(path, limitBytes));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, problem: { reason: "Unresponsive", message: `${path} can't be read: ${error.message}.` } };
  }
}

function buildFailedReading(path: string, limitBytes: number, cause: unknown): ConfigReading {
  if (cause instanceof RegularFileError) {
    if (cause.code === "not_regular") return buildNotAFileReading(path, cause.message);
    const message = `${path} is larger than the limit of ${limitBytes} bytes; make it smaller.`;
    return { ok: false, problem: { reason: "TooLarge", message } };
  }
  const { code, message: errorMessage } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") {
    const message = `${path} is missing; create it again, or set node.configPath to its location.`;
    return { ok: false, problem: { reason: "FileMissing", message } };
  }
  if (code === "ELOOP") return buildNotAFileReading(path, code);
  const message = `${path} can't be read ${explainFailure(path, code ?? errorMessage)}`;
  return { ok: false, problem: { reason: "Unreadable", message } };
}

/** Describes a read's system error, phrased to complete "… can't be read". Pure. */
export function explainFailure(path: string, code: string): string {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return `(${code}); grant the sidecar's user read access.`;
    case "EMFILE":
    case "ENFILE": {
      const whose = code === "EMFILE" ? "this process" : "this machine";
      return `(${code}): ${whose} has no file descriptors left; retrying. Raise the limit (ulimit -n, LimitNOFILE=, --ulimit nofile).`;
    }
    case "ENOMEM":
      return `(${code}): this machine or container is out of memory; check \`free -m\`.`;
    default:
      return `(${code}): its disk or mount is failing (not a permission problem); \`dmesg\` and \`cat ${quoteShellWord(path)} >/dev/null\` show why. Repair or remount the disk.`;
  }
}

/** Builds the reading for a path that is not a regular file for any user: a directory, a pipe, a link to itself. */
function buildNotAFileReading(path: string, why: string): ConfigReading {
  const message = `${path} can't be read (${why}); \`ls -ld ${path}\` shows what it is. Move it away, and create node.conf there.`;
  return { ok: false, problem: { reason: "NotAFile", message } };
}

/** Max links in a path (Linux, path_resolution(7)). */
const linksMax = 40;

/** Reads when a link on the path last changed (`ctime`; 0 if none): redirecting it changes the content, but not the target file's times. */
async function readLastLinkChange(path: string): Promise<number> {
  let changedAtMs = 0;
  let links = 0;
  let { root: jsonRoot } = parse(resolve(path));
  const names = splitPath(resolve(path));
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const here = join(jsonRoot, name);
    const stats = await lstat(here).catch(() => undefined);
    // The read itself reports a missing or forbidden path component.
    if (stats === undefined || links > linksMax) return changedAtMs;
    if (!stats.isSymbolicLink()) {
      jsonRoot = here;
      continue;
    }
    links += 1;
    changedAtMs = Math.max(changedAtMs, stats.ctimeMs);
    const target = resolve(dirname(here), await readlink(here));
    jsonRoot = parse(target).root;
    names.unshift(...splitPath(target));
  }
  return changedAtMs;
}

function splitPath(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split("/")
    .filter((name) => name !== "");
}
