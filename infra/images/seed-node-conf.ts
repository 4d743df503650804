import { isUtf8 } from "node:buffer";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { lookup } from "node:dns/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findConfValue } from "#node/conf/document.ts";
import { setValue } from "#node/conf/editor.ts";
import { parseText } from "#node/conf/parsed-text.ts";

/**
 * Writes a node's initial configuration if it is missing: `seed-node-conf.ts <from> <to>`. An existing configuration is managed by the
 * sidecar and left unchanged, except for the address that the node announces to its peers, because a pod may have moved to another machine.
 * `HOST_IP` contains that address, or a host name that resolves to it; if `HOST_IP` is empty, the file keeps its own address.
 *
 * For a real node, whose image supplies the programs and whose node.conf is stored separately: `--data <directory>` is created if missing;
 * `--programs <directory>` is copied once to the location of `--link <path>`, and the link points to `<to>`. With `--bin`, `--data` and `--keys`, a node.conf that specifies other
 * directories fails with status 1, before the node would start without its data.
 *
 * For a node whose image has an entry point that prepares it: `--place <source>=<path>` (repeatable) installs a file from the stack;
 * `--genesis-mark <directory>` is created if the node has data but no such directory; and if a file specified by `--require <path>` (repeatable)
 * is missing or empty, the program fails with status 1, because the entry point would otherwise generate a new key.
 */
const hostIpPath = ["chain", "startup_config", "init_config", "host_ip"];

function withHostIp(text: string, address: string): string | undefined {
  const byteOrderMark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const read = parseText(text.slice(byteOrderMark.length));
  if (!read.ok || read.parsed.format === "json5") return undefined;
  const edited = setValue(read.parsed, hostIpPath, address);
  return edited === undefined ? undefined : byteOrderMark + edited;
}

/** Resolves a host name; an address resolves to itself. @throws {Error} while the name has no address, so that the start of the pod is retried. */
async function findAddress(host: string): Promise<string> {
  return host === "" ? "" : (await lookup(host)).address;
}

/** Replaces a file atomically: a concurrent reader, or a reader after a kill, sees either the old or the new file. */
function replace(path: string, content: string | Buffer, mode: number): void {
  const staged = `${path}.seeded`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(staged, content, { mode });
  chmodSync(staged, mode);
  renameSync(staged, path);
}

function installConf(from: string, to: string, address: string): string {
  const found = existsSync(to);
  const bytes = readFileSync(found ? to : from);
  // Otherwise, the edit would replace what is not UTF-8.
  const text = isUtf8(bytes) ? bytes.toString() : undefined;
  const edited = address === "" || text === undefined ? text : withHostIp(text, address);
  if (found && edited === undefined) return `${to} exists but is not JSON; left unchanged for the sidecar to repair`;
  if (found && edited === text) return `${to} exists; left unchanged`;
  replace(to, edited ?? bytes, 0o644);
  return found ? `${to} exists; host_ip is now ${address}` : `seeded ${to}`;
}

/** Marker for a complete copy; a directory without it was left by a copy that was killed. */
const copyCompleteMarker = ".gatehouse-copied";

/**
 * Copies an image's own programs into the node's working directory once; later calls don't touch them, because a node may be running from
 * there. A node.conf among them is skipped: the node's own is elsewhere.
 *
 * @returns a human-readable outcome.
 */
function copyPrograms(from: string, to: string): string {
  const marker = join(to, copyCompleteMarker);
  if (existsSync(marker)) return `the image's binaries are in ${to}`;
  const names = readdirSync(from);
  cpSync(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => basename(source) !== "node.conf",
  });
  writeFileSync(marker, "");
  return names.length === 0 ? "the image has no binaries there" : `copied the image's binaries to ${to}`;
}

/** Creates a link to `target` at `path`, replacing any file there; a concurrent reader sees either the old file or the new link. */
function linkTo(path: string, target: string): void {
  const staged = `${path}.linked`;
  rmSync(staged, { force: true });
  symlinkSync(target, staged);
  renameSync(staged, path);
}

/**
 * Copies a file from the stack into the node's workspace, replacing any older version, because the stack is the source of the file.
 *
 * @param placement `<source>=<path>`.
 * @returns a human-readable outcome.
 */
function putFile(placement: string): string {
  const [source = "", path = ""] = placement.split("=");
  replace(path, readFileSync(source), 0o600);
  return `placed ${path}`;
}

function findMissingOrEmpty(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0);
}

/**
 * Marks existing data as initialized, so that an entry point that checks the mark never runs genesis over the data. Data without the mark
 * comes from a snapshot.
 *
 * @returns a human-readable outcome; none if there is nothing to mark.
 */
function markGenesis(data: string, mark: string): readonly string[] {
  if (existsSync(mark) || readdirSync(data).every((name) => name === "lost+found")) return [];
  mkdirSync(mark, { recursive: true });
  return [`${data} has data but no ${mark}; created it, so that genesis does not overwrite the data`];
}

const dataFields = [
  ["storage", "mygrid_env", "storage_data_path"],
  ["chain", "startup_config", "init_config", "meta_path"],
] as const;

const keyFields = [
  ["chain", "secret_config", "domain_key_path"],
  ["chain", "secret_config", "stabilizing_key_path"],
] as const;

/**
 * Lists the paths in a node.conf that are outside the directories of the node's container, one per line. Returns none for unparsable text,
 * with which no node starts. A node that finds an empty directory instead of its chain data would start a new chain.
 */
function findStrayLocations(
  text: string,
  { bin, data, keys }: Readonly<Record<"bin" | "data" | "keys", string>>,
): readonly string[] {
  const read = parseText(text.replace(/^\uFEFF/, ""));
  if (!read.ok) return [];
  const stray = (fields: readonly (readonly string[])[], directory: string) =>
    fields.flatMap((path) => {
      const found = findConfValue(read.parsed.value, path);
      if (typeof found !== "string" || isWithin(resolve(bin, found), directory)) return [];
      return [`${path.join(".")} is ${found}; this deployment mounts ${directory}`];
    });
  return [...stray(dataFields, data), ...stray(keyFields, keys)];
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    link: { type: "string" },
    programs: { type: "string" },
    bin: { type: "string" },
    data: { type: "string" },
    keys: { type: "string" },
    place: { type: "string", multiple: true, default: [] },
    require: { type: "string", multiple: true, default: [] },
    "genesis-mark": { type: "string" },
  },
});
const [from, to] = positionals;
const { bin, data, keys, link, programs, "genesis-mark": mark } = values;
if (from === undefined || to === undefined || (programs !== undefined && link === undefined)) {
  process.stderr.write(
    "usage: seed-node-conf.ts <from> <to> [--link <path> [--programs <directory>]] [--place <source>=<path>]… [--require <path>]… [--genesis-mark <directory>] [--bin <directory> --data <directory> --keys <directory>]\n",
  );
  process.exitCode = 2;
} else {
  const messages = [installConf(from, to, await findAddress(process.env["HOST_IP"] ?? ""))];
  if (data !== undefined) mkdirSync(data, { recursive: true });
  if (link !== undefined) {
    if (programs !== undefined) messages.push(copyPrograms(programs, dirname(link)));
    linkTo(link, to);
  }
  messages.push(...values.place.map(putFile));
  if (data !== undefined && mark !== undefined) messages.push(...markGenesis(data, mark));
  process.stdout.write(`${messages.join("\n")}\n`);
  const missing = findMissingOrEmpty(values.require);
  if (missing.length > 0) {
    process.stderr.write(
      `the node's keys are missing or empty: ${missing.join(", ")}. The image would generate new ones and start as a different node, so it is not started. Configure its keys: domainKey and stabilizingKey, nodeKeysDirectory or nodeKeysSecret.\n`,
    );
    process.exitCode = 1;
  }
  const stray =
    bin === undefined || data === undefined || keys === undefined
      ? []
      : findStrayLocations(readFileSync(to, "utf8"), { bin, data, keys });
  if (stray.length > 0) {
    process.stderr.write(
      `${to} has paths that do not exist in this deployment:\n${stray.map((line) => `  ${line}`).join("\n")}\nMove the data or keys there and correct ${to}; the node does not start until then.\n`,
    );
    process.exitCode = 1;
  }
}
