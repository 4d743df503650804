import { isDeepStrictEqual } from "node:util";
import { parseConfig, isJsonObject, type JsonObject } from "#node/conf/document.ts";
import type { AuditedConfig } from "../state/upkeep-state.ts";
import type { ConfigContext } from "./config-context.ts";
import { hashContent, type ConfigReading } from "./config-file.ts";
import type { ConfigState } from "./config-observation.ts";
import type { ConfigVersions } from "./config-versions.ts";

/** Min age before unusable content is reported: while saving, most editors briefly leave no file or a partial one. */
const brokenForMs = 2_000;

/**
 * Reports, once, each content except the first that the sidecar neither wrote nor reported before.
 *
 * @param auditedBefore what was reported before the read.
 * @param unchangedForMs time for which the file has had this content.
 */
export async function reportEdit(
  reading: ConfigReading,
  auditedBefore: AuditedConfig | undefined,
  { state, versions, events, edits, place, config, clock }: ConfigContext,
  unchangedForMs = clock.monotonicMs() - config.now().contentSinceMs,
): Promise<void> {
  const path = place.layout().configPath;
  const { contentHash: sha256 } = reading;
  // An unreadable file may or may not have changed.
  if (!reading.ok && sha256 === undefined && reading.problem.reason !== "FileMissing") return;
  const audited = state.auditedConfig.get();
  if (!isDeepStrictEqual(audited, auditedBefore)) return;
  const now = { path, sha256 };
  if (audited === undefined || (sha256 !== undefined && audited.writing === sha256))
    return state.auditedConfig.set(now);
  if (audited.sha256 === sha256) {
    if (audited.path !== path) state.auditedConfig.set(now);
    return;
  }
  if (!reading.ok && unchangedForMs < brokenForMs) return;
  const skippedEdits = edits.admit(sha256);
  if (skippedEdits === undefined) return;
  const contentBefore = await findContent(audited.sha256, config.now().lastUsable, versions);
  const message = `${describeChange(reading, contentBefore, audited)}.${skippedEdits === 0 ? "" : ` ${skippedEdits} other edits since the previous entry were not logged.`}`;
  state.atomically(() => {
    const sides = { before: { sha256: audited.sha256 }, after: { sha256 } };
    events.add("edit", message, undefined, { by: "somebody else", outcome: "success", ...sides });
    state.auditedConfig.set(now);
  });
}

function describeChange(reading: ConfigReading, contentBefore: Uint8Array | undefined, audited: AuditedConfig): string {
  if (!reading.ok) {
    const { reason } = reading.problem;
    if (reason === "FileMissing") return "node.conf was removed by another program or user";
    return `node.conf was changed by another program or user and is invalid (${reason})`;
  }
  if (audited.sha256 === undefined) return "node.conf was created by another program or user";
  const parsed = contentBefore === undefined ? undefined : parseConfig(contentBefore);
  const what =
    parsed?.ok === true
      ? describeEdit(parsed.document.value, reading.document.value)
      : "its previous content was not stored or was invalid, so the changed keys are unknown";
  return `node.conf was changed by another program or user: ${what}`;
}

async function findContent(
  sha256: string | undefined,
  lastUsable: ConfigState["lastUsable"],
  versions: ConfigVersions,
): Promise<Uint8Array | undefined> {
  if (sha256 === undefined) return undefined;
  if (lastUsable?.contentHash === sha256) return lastUsable.bytes;
  const kept = [() => versions.recall("last-good"), () => versions.recall("healthy"), () => versions.newest()];
  for (const recall of kept) {
    // If a copy can't be read, only the list of keys is lost; a condition reports the state directory's failure.
    const bytes = await recall().catch(() => undefined);
    if (bytes !== undefined && hashContent(bytes) === sha256) return bytes;
  }
  return undefined;
}

const keysMax = 10;
const maxKeyLength = 120;

/** Lists the keys whose values differ, without the values, which may be secrets: `a.b changed, a.c added`. Pure. */
export function describeEdit(contentBefore: JsonObject, after: JsonObject): string {
  const found = [...listDifferences(contentBefore, after, "")];
  if (found.length === 0) return "formatting only, no value differs";
  const more = found.length > keysMax ? `, and ${found.length - keysMax} more` : "";
  return `${found.slice(0, keysMax).join(", ")}${more}`;
}

function* listDifferences(contentBefore: JsonObject, after: JsonObject, prefix: string): Generator<string> {
  for (const key of new Set([...Object.keys(contentBefore), ...Object.keys(after)])) {
    const path = `${prefix}${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)}`;
    const [was, is] = [contentBefore[key], after[key]];
    if (!Object.hasOwn(after, key)) yield `${cutPath(path)} removed`;
    else if (!Object.hasOwn(contentBefore, key)) yield `${cutPath(path)} added`;
    else if (isJsonObject(was) && isJsonObject(is)) yield* listDifferences(was, is, `${path}.`);
    else if (!isDeepStrictEqual(was, is)) yield `${cutPath(path)} changed`;
  }
}

function cutPath(path: string): string {
  return path.length <= maxKeyLength ? path : `${path.slice(0, maxKeyLength)}…`;
}
