import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { arch, platform, release, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { create } from "tar";
import type { Mask } from "#daemon/secrets/mask.ts";
import { version } from "#daemon/version.ts";
import { formatServiceName, type InspectedService } from "./inspect-service.ts";
import type { Finding } from "./finding.ts";
import { redact } from "./redact.ts";

export type BundleSources = Readonly<{
  findings: readonly Finding[];
  services: readonly InspectedService[];
  logs: readonly string[];
  /** Milliseconds since 1970. */
  clock: () => number;
  mask: Mask;
}>;

/** Max bytes per file: the tail of a log, the head of any other file. */
const entryBytesMax = 2 * 1_024 * 1_024;
const entriesMax = 64;

const introduction = `What "gatehouse doctor --bundle" found, for a bug report.

findings.json        all checks and their results
versions.json        versions of Gatehouse, Node and the system
<service>/           settings with their origins, and the service's responses: /configuration.json, /readyz, /status, /metrics
log/                 tails of log files

Removed: secret settings, credentials in URLs, and anything that looks like a key, token, password or signature. Every hexadecimal
number of 32 bytes or more, including transaction hashes, is replaced by a digest: [hex 1a2b3c4d].
Included: host names, IP addresses, accounts, paths. Review it before you publish it.
`;

/** Readable only by its owner; never replaces a file. */
export async function writeBundle(path: string, sources: BundleSources): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-doctor-"));
  try {
    const texts = await listEntries(sources);
    for (const [name, text] of texts) {
      await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
      await writeFile(join(folder, name), limitText(redact(text, sources.mask)), { mode: 0o600 });
    }
    const names = texts.map(([name]) => name);
    // Portable: omits this machine's user names.
    await pipeline(
      create({ gzip: true, portable: true, cwd: folder }, names),
      createWriteStream(path, { flags: "wx", mode: 0o600 }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Entry = readonly [name: string, text: string];

async function listEntries({ findings, services, logs, clock }: BundleSources): Promise<readonly Entry[]> {
  const versions = {
    at: new Date(clock()).toISOString(),
    gatehouse: version,
    node: process.version,
    system: `${platform()} ${release()} ${arch()}`,
  };
  const ends = await Promise.all(logs.map(async (log) => [`log/${nameLog(log, logs)}`, await readEnd(log)] as const));
  return [
    ["README.txt", introduction] as const,
    ["findings.json", formatJson(findings)] as const,
    ["versions.json", formatJson(versions)] as const,
    ...services.flatMap((service) => listServiceEntries(formatServiceName(service, services), service)),
    ...ends,
  ].slice(0, entriesMax);
}

function listServiceEntries(
  name: string,
  { source, settings, responses: answers }: InspectedService,
): readonly Entry[] {
  const folder = name.replaceAll(/[^\w.-]+/g, "-");
  const own = settings?.ok === true ? settings.values : settings?.problems;
  const responseEntries = Object.entries(answers ?? {}).map(([file, got]): Entry => {
    if (!got.ok) return [`${folder}/${file}`, `no response: ${got.why}\n`];
    return [`${folder}/${file}`, got.status === 200 ? got.body : `HTTP ${got.status}\n${got.body}`];
  });
  return [[`${folder}/settings.json`, formatJson({ source, settings: own ?? "not known" })], ...responseEntries];
}

/** Names a log's archive entry after its file, and adds the log's index if another log has the same name. */
function nameLog(log: string, all: readonly string[]): string {
  const isAlone = all.filter((other) => basename(other) === basename(log)).length === 1;
  return isAlone ? basename(log) : `${all.indexOf(log)}-${basename(log)}`;
}

async function readEnd(path: string): Promise<string> {
  try {
    await using file = await open(path, "r");
    const stats = await file.stat();
    if (!stats.isFile()) return "this is not a regular file\n";
    const from = Math.max(0, stats.size - entryBytesMax);
    const bytes = Buffer.alloc(Math.min(stats.size, entryBytesMax));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
    const text = bytes.subarray(0, bytesRead).toString("utf8");
    // The first line may be truncated, which would hide a secret in it from redaction.
    return from === 0 ? text : text.slice(text.indexOf("\n") + 1);
  } catch (error) {
    return `it can't be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})\n`;
  }
}

function limitText(text: string): string {
  return text.length <= entryBytesMax ? text : `${text.slice(0, entryBytesMax)}\n… truncated\n`;
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
