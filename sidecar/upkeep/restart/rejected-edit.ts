import { resolve } from "node:path";
import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { loadStoredConfig } from "../config/healthy-config.ts";
import { findConfValue, isJsonObject, parseConfig } from "#node/conf/document.ts";
import type { UsableReading } from "../config/config-file.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { LintFinding, LintRule } from "#node/lint/lint-rules.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import type { RestartContext } from "./restart-context.ts";
import { stat } from "node:fs/promises";

/** Findings that prevent a node from starting. */
const fatal: ReadonlySet<LintRule> = new Set(["missing-key", "wrong-type", "port-clash"]);

/** A wrong monitor_config only disables the node's metrics; but which of two duplicate keys a node reads, anywhere, depends on its parser. */
function isFault({ rule, path }: LintFinding): boolean {
  return rule === "duplicate-key" || (fatal.has(rule) && !path.startsWith("chain.monitor_config"));
}

const keyFiles = ["domain_key_path", "stabilizing_key_path"];

/** `text`: whole sentences; `isUnchecked`: no fault is known, but it can't be checked now. */
type EditRejection = Readonly<{ text: string; isUnchecked?: true }>;

/** Reason why a node wouldn't start. `id` is the same for different content with the same fault. */
type Fault = Readonly<{ id: string; text: string }>;

/** Explains why the node wouldn't start with an edit: a new lint finding, a missing key file, or a moved port. */
export async function explainRejectedEdit(
  reading: UsableReading,
  version: NodeVersion | undefined,
  context: RestartContext,
): Promise<EditRejection | undefined> {
  try {
    return await judgeEdit(reading, version, context);
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    // The edit is checked again at the next periodic reconcile, and as soon as the file system recovers.
    return { text: `${error.message}.`, isUnchecked: true };
  }
}

async function judgeEdit(
  reading: UsableReading,
  version: NodeVersion | undefined,
  context: RestartContext,
): Promise<EditRejection | undefined> {
  const before = await findPrecedingContent(reading, context);
  if (before === "the same") return undefined;
  const known = new Set((await findConfigFaults(before, version, context)).map(({ id }) => id));
  return (await findConfigFaults(reading.bytes, version, context)).find(({ id }) => !known.has(id));
}

/** Finds the content with which the node is known or assumed to run; "the same" if that is the current content. */
async function findPrecedingContent(
  { contentHash }: UsableReading,
  { config, restarts, process, versions, log }: RestartContext,
): Promise<Uint8Array | undefined | "the same"> {
  if (restarts.now().kept?.hash === contentHash) return "the same";
  const healthy = await loadStoredConfig("healthy", { versions, log });
  if (healthy !== undefined) return healthy;
  // The node isn't running with the content found at first contact, so faults in that content don't excuse the same faults in this one.
  if (process.now().requestedStart?.nodeStarted === "before") return undefined;
  const { lastUsable } = config.now();
  return (await versions.newest()) ?? (lastUsable?.contentHash === contentHash ? undefined : lastUsable?.bytes);
}

async function findConfigFaults(
  content: Uint8Array | undefined,
  version: NodeVersion | undefined,
  context: RestartContext,
): Promise<readonly Fault[]> {
  const { configPath } = context.place.layout();
  if (content === undefined) return [];
  const found = lintConfig(content, version).filter(isFault);
  const lint = found.map(({ rule, path, line, column, message, fix }) => ({
    id: `${rule} ${path}`,
    text: `${configPath}:${line}:${column} ${path} ${message} To fix it, ${fix}`,
  }));
  const faults = [...lint, ...findMovedPorts(content, context)];
  // Only with this driver can this process access the node's own files.
  return context.driver?.name === "ops" ? [...faults, ...(await findMissingKeyFiles(content, context))] : faults;
}

/** Finds ports at which the sidecar couldn't reach the node. If the running configuration has the same mismatch, ports are mapped. */
function findMovedPorts(content: Uint8Array, { place, settings }: RestartContext): readonly Fault[] {
  const { configPath } = place.layout();
  const parsed = parseConfig(content);
  if (!parsed.ok) return [];
  return Object.entries({ http_port: "httpUrl", ws_port: "webSocketUrl" } as const).flatMap(([name, key]) => {
    const path = ["chain", "startup_config", "init_config", name];
    const port = findConfValue(parsed.document.value, path);
    const url = new URL(settings.node[key]);
    if (typeof port !== "string" || url.port === "" || port === url.port) return [];
    const text =
      `${configPath} ${path.join(".")} is ${port}, but the sidecar queries the node on port ${url.port} (node.${key}). ` +
      `Set node.${key} to the new port and restart the sidecar first, or change the port back to ${url.port}.`;
    return [{ id: `port ${name}`, text }];
  });
}

async function findMissingKeyFiles(content: Uint8Array, { place }: RestartContext): Promise<readonly Fault[]> {
  const { configPath, pathsDirectory } = place.layout();
  const parsed = parseConfig(content);
  const secrets = parsed.ok ? parsed.document.chain["secret_config"] : undefined;
  if (!isJsonObject(secrets)) return [];
  const faults: Fault[] = [];
  for (const name of keyFiles) {
    const written = secrets[name];
    if (typeof written !== "string" || written === "") continue;
    const path = resolve(pathsDirectory, written);
    if (!(await isKeyMissing(path, place.keyDeadline))) continue;
    const text = `${configPath} chain.secret_config.${name}: ${path} does not exist. Correct the path, or create the file.`;
    faults.push({ id: `missing-file ${name}`, text });
  }
  return faults;
}

/** A file that this user can't access counts as present. @throws {HangingFileSystem} */
async function isKeyMissing(path: string, keyDeadline: FileDeadline): Promise<boolean> {
  return keyDeadline.call(`checking ${path}`, () =>
    stat(path).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
    ),
  );
}
