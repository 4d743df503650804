import { basename, join } from "node:path";
import type { ConditionReport } from "#status/condition.ts";
import type { ConfigWriteResult } from "./config-writer.ts";
import { writeWithDeadline } from "./write-with-deadline.ts";
import type { ConfigReading } from "./config-file.ts";
import { hasSameMeaning } from "#node/conf/meaning.ts";
import { describeChange, whatChanges } from "#node/conf/describe-change.ts";
import type { Plan, PlanAction } from "../plan/plan.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** What came of the planned write; `again` when the file has to be read again at once. */
export type AppliedConfig = Readonly<{ result?: ConfigWriteResult; again: boolean; wakeInMs?: number }>;

type WriteConfig = Extract<PlanAction, { kind: "write-config" }>;

/** Writes node.conf as planned. Nothing is written when nothing changes. */
export async function applyConfig(
  planned: Plan,
  reading: Extract<ConfigReading, { ok: true }>,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<AppliedConfig> {
  const action = writeOf(planned);
  if (action === undefined) return { again: false };
  const { rate, events, metrics, settings, place } = parts;
  const waitMs = rate.waitMs();
  if (waitMs > 0) return { again: false, wakeInMs: waitMs };
  const content = Buffer.from(reading.document.byteOrderMark ? `\uFEFF${action.text}` : action.text);
  forgetWhatNodeHas(reading, memory, parts);
  const path = place.layout().configPath;
  const limitBytes = settings.upkeep.configLimitBytes;
  const write = { path, limitBytes, expectedHash: reading.contentHash, content };
  const result = await writeWithDeadline(write, {
    patience: place.patience,
    lock: place.lock(),
    versions: parts.versions,
  });
  if (!result.ok) return { result, again: result.reason === "ChangedMeanwhile" };
  // What could not be written was no correction, and nobody took it back.
  rate.record(reading.contentHash);
  memory.corrected = action.changes.map(whatChanges);
  metrics.corrected();
  for (const change of action.changes) events.add("write", `${basename(path)}: ${whatChanges(change)}.`, change.reason);
  return { result, again: true };
}

/**
 * Notes before a write that the node may have read what stands there, so that a sidecar that is killed right after it knows; unless that
 * means to the node what it has read before.
 */
function forgetWhatNodeHas(
  { document, changedAtMs }: Extract<ConfigReading, { ok: true }>,
  memory: UpkeepMemory,
  { state, observer }: UpkeepParts,
): void {
  const nodeHas = state.nodeHas.get();
  if (nodeHas === undefined || nodeHas === "unknown") return;
  if (hasSameMeaning(nodeHas, document, observer.version().version)) return;
  memory.previousMeaning = { meaning: nodeHas, untilMs: changedAtMs };
  state.nodeHas.set("unknown");
}

function writeOf(planned: Plan): WriteConfig | undefined {
  return planned.actions.find((action) => action.kind === "write-config");
}

/** Says whether node.conf is as desired and whether anybody else writes it; remembers a content that is right. `idle` says why nothing was written. */
export async function setConfigConditions(
  planned: Plan,
  reading: ConfigReading,
  { applied, idle }: Readonly<{ applied: AppliedConfig | undefined; idle: string | undefined }>,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<void> {
  const { board } = parts;
  board.set(soleWriter(applied?.result, memory, parts));
  if (applied?.result?.ok === true || applied?.again === true) return;
  const condition = configCurrent(planned, reading, applied?.result, idle);
  if (condition !== undefined) {
    memory.configCurrent = condition;
    board.set(condition);
  }
  if (condition?.status === "True" && reading.ok && memory.goodHash !== reading.contentHash) {
    await keepGood(reading, memory, parts);
  }
}

/** A copy that can't be kept is told, and keeps nobody from ending a restart that left the node down. */
async function keepGood(
  { bytes, contentHash }: Extract<ConfigReading, { ok: true }>,
  memory: UpkeepMemory,
  { versions, state }: UpkeepParts,
): Promise<void> {
  try {
    await versions.remember("last-good", bytes);
    memory.goodHash = contentHash;
    memory.goodNotKept = undefined;
  } catch (error) {
    memory.goodNotKept =
      `What node.conf holds can't be kept in ${join(state.directory, "last-good.conf")} (${(error as Error).message}): were it to become ` +
      `unusable, an earlier one would be put back, or none. Make ${state.directory} writable, and free some space there (df, df -i).`;
  }
}

/** Why node.conf stays as it is while another process has the right to write it. */
export const locked = "this sidecar may not write it (SoleWriter)";

function configCurrent(
  planned: Plan,
  reading: ConfigReading,
  result: ConfigWriteResult | undefined,
  idle: string | undefined,
): ConditionReport<"ConfigCurrent"> | undefined {
  const type = "ConfigCurrent";
  if (!reading.ok) return undefined;
  if (result?.ok === false && result.reason === "Locked") {
    const changes = writeOf(planned)?.changes.map(describeChange).join("; ") ?? "";
    return {
      type,
      status: "False",
      reason: result.reason,
      message: `node.conf is not as desired, and ${locked}: ${changes}`,
    };
  }
  if (result?.ok === false && result.reason !== "ChangedMeanwhile") {
    return { type, status: "False", reason: result.reason, message: result.message };
  }
  for (const { reason, message } of planned.problems) {
    if (reason !== "PruneStaysOn") return { type, status: "False", reason, message: sentence(message) };
  }
  const action = writeOf(planned);
  if (action === undefined) return { type, status: "True", reason: "AsDesired", message: "node.conf is as desired." };
  const why = idle ?? "corrections are slowed down to one a second";
  const list = action.changes.map(describeChange).join("; ");
  return { type, status: "False", reason: "Drift", message: `node.conf is not as desired, and ${why}: ${list}` };
}

function soleWriter(
  result: ConfigWriteResult | undefined,
  { corrected }: UpkeepMemory,
  { rate, clock, place, command }: UpkeepParts,
): ConditionReport {
  const type = "SoleWriter";
  if (result?.ok === false && result.reason === "Locked") {
    return { type, status: "False", reason: "Locked", message: sentence(result.message) };
  }
  const often = rate.contestedUntilMs();
  const untilMs = often ?? rate.repeatedUntilMs();
  if (untilMs === undefined) {
    return { type, status: "True", reason: "OnlyWriter", message: "Nobody else keeps writing node.conf." };
  }
  const what =
    often === undefined
      ? "node.conf was corrected of the very same change again and again within six hours"
      : `node.conf was corrected ${rate.perMinute()} times within a minute`;
  const until = new Date(clock.wallMs() + untilMs - clock.monotonicMs()).toISOString();
  const { configPath } = place.layout();
  const message =
    `${what}: another program keeps writing it. Stop that program; only the sidecar may write the file. Last undone: ${corrected.join("; ")}. ` +
    "Look for that in cron, configuration management (Ansible, Puppet) and the deployment's own templates; " +
    `\`auditctl -w ${configPath} -p wa\` and \`ausearch -f ${configPath}\` name the program. The node is not restarted for it until ${until}, ` +
    `or until \`${command("resume")}\` is run.`;
  return { type, status: "False", reason: "Contested", message };
}

function sentence(message: string): string {
  // The file's name is a name, not a word.
  return message.startsWith("node.conf") ? message : message.charAt(0).toUpperCase() + message.slice(1);
}
