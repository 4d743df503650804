import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { lookup } from "node:dns/promises";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { setValue } from "#node/conf/editor.ts";
import { parseText } from "#node/conf/parsed-text.ts";
import { findMissingFiles, markGenesis, putFile } from "./entry-point-files.ts";
import { findStrayLocations } from "./stray-locations.ts";
import { copyPrograms, linkTo } from "./node-programs.ts";

/**
 * Writes a node's initial configuration if it is missing: `seed-node-conf.ts <from> <to>`. An existing configuration belongs to the sidecar
 * and is left unchanged, except for the address that the node announces to its peers, because a pod may have moved to another machine.
 * `HOST_IP` contains that address, or a host name that resolves to it; if `HOST_IP` is empty, the file keeps its own address.
 *
 * For a real node, whose image supplies the programs and whose node.conf is stored separately: `--adopt <path>` (repeatable) migrates a
 * node.conf that an earlier release stored there; `--data <directory>` is created if missing; `--programs <directory>` is copied once to
 * the location of `--link <path>`, and the link points to `<to>`. With `--bin`, `--data` and `--keys`, a node.conf that specifies other
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
function replace(path: string, text: string): void {
  const staged = `${path}.seeded`;
  writeFileSync(staged, text);
  chmodSync(staged, 0o644);
  renameSync(staged, path);
}

function installConf(from: string, to: string, former: readonly string[], address: string): string {
  const adopted = existsSync(to) ? undefined : former.find((path) => existsSync(path));
  const found = existsSync(to);
  const text = readFileSync(found ? to : (adopted ?? from), "utf8");
  const edited = address === "" ? text : withHostIp(text, address);
  if (found && edited === undefined) return `${to} exists but is not JSON; left unchanged for the sidecar to repair`;
  if (found && edited === text) return `${to} exists; left unchanged`;
  mkdirSync(dirname(to), { recursive: true });
  replace(to, edited ?? text);
  if (found) return `${to} exists; host_ip is now ${address}`;
  return adopted === undefined
    ? `seeded ${to}`
    : `copied ${adopted} to ${to}; the old file stays but is no longer read`;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    adopt: { type: "string", multiple: true, default: [] },
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
    "usage: seed-node-conf.ts <from> <to> [--adopt <path>]… [--link <path> [--programs <directory>]] [--place <source>=<path>]… [--require <path>]… [--genesis-mark <directory>] [--bin <directory> --data <directory> --keys <directory>]\n",
  );
  process.exitCode = 2;
} else {
  const said = [installConf(from, to, values.adopt, await findAddress(process.env["HOST_IP"] ?? ""))];
  if (data !== undefined) mkdirSync(data, { recursive: true });
  if (link !== undefined) {
    if (programs !== undefined) said.push(copyPrograms(programs, dirname(link)));
    linkTo(link, to);
  }
  said.push(...values.place.map(putFile));
  if (data !== undefined && mark !== undefined)
    said.push(...[markGenesis(data, mark)].filter((one) => one !== undefined));
  process.stdout.write(`${said.join("\n")}\n`);
  const missing = findMissingFiles(values.require);
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
