import { styleText } from "node:util";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { SidecarSettings } from "../settings.ts";
import { createWriterLock } from "./config/writer-lock.ts";
import { writeConfig } from "./config/config-writer.ts";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { readConfigFile, type UsableReading } from "./config/config-file.ts";
import { createConfigVersions, type ConfigVersions } from "./config/config-versions.ts";
import { planWithEarlierValues } from "./config/healthy-config.ts";
import { findPathsDirectory } from "#node/layout.ts";
import { encodeConfig } from "#node/conf/document.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { parseNodeVersion, type NodeVersion } from "#node/versions.ts";
import { buildConfigTree } from "#node/lint/config-tree.ts";
import { findWrittenSecrets } from "#node/lint/general-rules.ts";
import { describeChange, type ConfigChange } from "#node/conf/monitor-change.ts";
import { looksSecret, withoutCredentials, withoutSecretShapes } from "#node/conf/secret-shapes.ts";
import type { PlanDocument } from "./plan/plan-document.ts";
import { findWrite, type Plan } from "./plan/plan.ts";

export type PlanCommandOptions = Readonly<{
  configPath: string;
  nodeVersion: string;
  /** Directories that may contain the state of the node's sidecar, whose copies may have values that the file has lost. */
  stateDirectories: readonly string[];
  json: boolean;
  write: boolean;
}>;

/** Prints how a node.conf differs from the desired one. Returns 0 if nothing is left to do, 2 on drift, 1 on error. */
export async function runPlanCommand(
  options: PlanCommandOptions,
  settings: SidecarSettings,
  output: CommandOutput,
): Promise<number> {
  const { configPath } = options;
  const version = parseNodeVersion(options.nodeVersion);
  if (version === undefined) {
    output.error(`plan: --node-version "${options.nodeVersion}" is not a version; expected one such as 0.16.2.\n`);
    return exitStatus.error;
  }
  const reading = await readConfigFile(configPath, settings.upkeep.configLimitBytes);
  if (!reading.ok) {
    const { reason, message: problemText } = reading.problem;
    // The reading's own message is about the sidecar's setting.
    const message = reason === "FileMissing" ? `${configPath} does not exist; correct --config.` : problemText;
    if (options.json) output.out(renderJson({ ...buildEmptyDocument(options), problems: [{ reason, message }] }));
    output.error(`plan: ${message}\n`);
    return exitStatus.error;
  }
  const configPlan = await planFor({ document: reading.document, version }, options, { settings, output });
  if (!options.json) output.out(render(configPath, reading, configPlan, output));
  for (const { message } of configPlan.problems) output.error(`plan: ${message}\n`);
  const writtenPath = await writePlanned(configPlan, { options, reading, settings });
  const isWritten = writtenPath?.ok === true;
  if (!options.json && findWrite(configPlan) !== undefined && configPlan.problems.length === 0) {
    const next = isWritten
      ? "Written. If no sidecar runs, restart the node: it reads the file only at startup."
      : "To apply this, add --write, or let the sidecar do it.";
    if (isWritten || !options.write) output.out(`\n${next}\n`);
  }
  if (writtenPath?.ok === false) output.error(`plan: ${writtenPath.message}\n`);
  if (writtenPath?.ok === true && writtenPath.attributesLost !== undefined)
    output.error(`plan: any ACLs and extended attributes of the file were lost: ${writtenPath.attributesLost}\n`);
  if (options.json) output.out(renderJson(buildDocument(reading, configPlan, { ...options, written: isWritten })));
  if (configPlan.problems.length > 0 || writtenPath?.ok === false) return exitStatus.error;
  return findWrite(configPlan)?.text === undefined || isWritten ? exitStatus.clean : exitStatus.drift;
}

/** Plans in the same way as the sidecar. A copy counts if it has the same data, keys and ports as the current file. */
function planFor(
  observed: Readonly<{ document: UsableReading["document"]; version: NodeVersion }>,
  { configPath, stateDirectories }: PlanCommandOptions,
  { settings, output }: Readonly<{ settings: SidecarSettings; output: CommandOutput }>,
): Promise<Plan> {
  const pathsDirectory = findPathsDirectory(configPath);
  const values = readNodeValues(observed.document, pathsDirectory);
  return planWithEarlierValues(observed, settings, pathsDirectory, {
    versions: recallFrom(stateDirectories),
    state: { nodeValues: { get: () => values } },
    log: { warn: (_facts: object, message?: string) => output.error(`plan: ${message ?? ""}\n`) },
  });
}

function recallFrom(directories: readonly string[]): Pick<ConfigVersions, "recall"> {
  return {
    recall: async (slot) => {
      for (const directory of directories) {
        const copy = await createConfigVersions(directory).recall(slot);
        if (copy !== undefined) return copy;
      }
      return undefined;
    },
  };
}

type Writing = Readonly<{ options: PlanCommandOptions; reading: UsableReading; settings: SidecarSettings }>;

/** Writes the planned node.conf if `write` is set and the plan has no problems. Returns undefined if there was nothing to write. */
async function writePlanned(configPlan: Plan, { options, reading, settings }: Writing) {
  const text = findWrite(configPlan)?.text;
  if (!options.write || text === undefined || configPlan.problems.length > 0) return undefined;
  const path = options.configPath;
  using lock = createWriterLock(path);
  const content = encodeConfig(reading.document, text);
  const limitBytes = settings.upkeep.configLimitBytes;
  const write = { path, limitBytes, expectedHash: reading.contentHash, content };
  // A checkout has its own history, so no earlier versions are saved.
  const result = await writeConfig(write, lock, undefined);
  lock.remove();
  return result;
}

function buildEmptyDocument({ configPath, nodeVersion }: PlanCommandOptions): PlanDocument {
  return { configPath, nodeVersion, drift: null, written: false, changes: [], problems: [], diff: "" };
}

function buildDocument(
  reading: UsableReading,
  configPlan: Plan,
  options: PlanCommandOptions & Readonly<{ written: boolean }>,
): PlanDocument {
  const action = findWrite(configPlan);
  return {
    ...buildEmptyDocument(options),
    drift: action !== undefined,
    written: options.written,
    changes: (action?.changes ?? []).map((change) => redactChange(change, reading)),
    problems: configPlan.problems,
    ...(action?.warning === undefined ? {} : { warning: action.warning }),
    diff: formatDiff(options.configPath, reading, configPlan),
  };
}

function renderJson(document: PlanDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Masks each value separately: masking the whole text could end a string too early. */
function redactChange(change: ConfigChange, reading: UsableReading): ConfigChange {
  const mask = (key: string, value: unknown) => {
    if (typeof value !== "string") return value;
    if (looksSecret(key, value)) return "[secret]";
    // Credentials are matched when they follow a quote, as in the file.
    return withoutCredentials(`"${withoutSecrets(value, reading)}"`).slice(1, -1);
  };
  return JSON.parse(JSON.stringify(change, mask)) as ConfigChange;
}

function render(configPath: string, reading: UsableReading, configPlan: Plan, { isColored }: CommandOutput): string {
  const action = findWrite(configPlan);
  if (action === undefined) return configPlan.problems.length === 0 ? `${configPath}: no changes.\n` : "";
  const diff = formatDiff(configPath, reading, configPlan);
  const reasons = withoutSecrets(action.changes.map((change) => `  ${describeChange(change)}`).join("\n"), reading);
  const warning = action.warning === undefined ? "" : `\nWarning: ${action.warning}`;
  return `${isColored ? addColors(diff) : diff}\nWhy:\n${reasons}${warning}\n`;
}

function formatDiff(configPath: string, reading: UsableReading, configPlan: Plan): string {
  const text = findWrite(configPlan)?.text;
  if (text === undefined) return "";
  // Removes the leading slash of an absolute path: as in git, the prefix `a/` replaces it.
  const path = configPath.replace(/^\/+/, "");
  const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, reading.document.text, text, "", "", {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  });
  return withoutSecrets(patch, reading);
}

/** Masks secrets, including those in comments, in the lines around a change: many people can read a pipeline's log. */
function withoutSecrets(patch: string, { document }: UsableReading): string {
  const secrets = findWrittenSecrets(buildConfigTree(document));
  return withoutSecretShapes(
    secrets.reduce((maskedText, secret) => maskedText.replaceAll(secret, '"[secret]"'), patch),
  );
}

function addColors(diff: string): string {
  return diff
    .split("\n")
    .map((line) => styleText(chooseStyle(line), line, { validateStream: false }))
    .join("\n");
}

function chooseStyle(line: string) {
  if (line.startsWith("@@")) return "cyan";
  if (line.startsWith("+")) return "green";
  return line.startsWith("-") ? "red" : [];
}
