import { parseText } from "#daemon/settings/environment.ts";
import { listSettingsLeaves, toEnvironmentName, type SettingsLeaf, assignAt } from "#daemon/settings/leaf.ts";
import { findNearestWord, SettingsError } from "#daemon/settings/problem.ts";
import { readSettings, type SettingsDefinition } from "#daemon/settings/settings.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import { isDeploymentSecret, type DeploymentSecret } from "../config/deployment-secret.ts";
import { filesDirectory, liveFilesDirectory, liveSecretsDirectory, type FileSpec } from "./service-spec.ts";

/** A service's settings as its container receives them: environment variables. For a secret, the variable contains the path of a file. */
export type RenderedSettings = Readonly<{
  environment: Readonly<Record<string, string>>;
  files: readonly FileSpec[];
  liveFiles: readonly FileSpec[];
  liveSecrets: readonly FileSpec[];
  problems: readonly ConfigProblem[];
}>;

/** Settings that a service also reads from a hot-reloaded file: these keys under `at`. */
export type LiveSettings = Readonly<{ at: readonly string[]; keys: readonly string[]; file: string }>;

/** A service's settings file whose change triggers a hot restart. */
export type HotRestartSettings = Readonly<{
  file: string;
  /** Path prefixes of settings that stay in the environment because changing them replaces the container anyway. */
  fixed: readonly (readonly string[])[];
  /**
   * Whether changed secrets trigger a hot restart too. Not allowed for a service that pays or is paid: two processes must not use different
   * ledgers or signers.
   */
  withSecrets: boolean;
}>;

export type SettingsDelivery = Readonly<{
  live?: LiveSettings | undefined;
  hotRestart?: HotRestartSettings | undefined;
}>;

/**
 * Renders settings into a container's environment and files, and parses them with the service's own reader, so that settings rejected at
 * startup are reported as problems. Secrets become files, referenced by `<NAME>_FILE`. The `live` settings become one file; with
 * `hotRestart`, the remaining non-secret settings become another.
 */
export function renderSettings(
  definition: SettingsDefinition,
  tree: SettingsTree,
  { live, hotRestart }: SettingsDelivery = {},
): RenderedSettings {
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const environment: Record<string, string> = {};
  const checked: Record<string, string> = {};
  const secrets: FileSpec[] = [];
  const areSecretsLive = hotRestart?.withSecrets ?? false;
  const secretsDirectory = areSecretsLive ? liveSecretsDirectory : filesDirectory;
  const inFile: Record<string, unknown> = {};
  for (const leaf of leaves) {
    const value = findRenderedValue(tree, leaf.path);
    if (value === undefined) continue;
    const hidden = findSecret(leaf, value);
    if (isLive(leaf, live)) {
      checked[leaf.env] = encode(leaf, value);
    } else if (hidden !== undefined) {
      const name = leaf.path.join("-").toLowerCase();
      secrets.push({ name, content: hidden.value, secret: true });
      environment[`${leaf.env}_FILE`] = `${secretsDirectory}/${name}`;
      checked[leaf.env] = hidden.check;
    } else if (hotRestart !== undefined && !beginsWithAny(leaf.path, hotRestart.fixed)) {
      const text = encode(leaf, value);
      if (text !== "") assignAt(inFile, leaf.path, parseText(leaf, text));
      checked[leaf.env] = text;
    } else {
      environment[leaf.env] = encode(leaf, value);
      checked[leaf.env] = encode(leaf, value);
    }
  }
  if (hotRestart !== undefined) {
    environment[toEnvironmentName(definition.service, ["settingsPath"])] = `${liveFilesDirectory}/${hotRestart.file}`;
  }
  return {
    environment,
    files: areSecretsLive ? [] : secrets,
    liveSecrets: areSecretsLive ? secrets : [],
    liveFiles: [
      ...(live === undefined ? [] : [buildLiveFile(tree, live)]),
      ...(hotRestart === undefined ? [] : [toJson5File(hotRestart.file, inFile)]),
    ],
    problems: [...findUnknownKeys(definition, leaves, tree), ...findRejections(definition, leaves, checked)],
  };
}

function isLive({ path }: SettingsLeaf, live: LiveSettings | undefined): boolean {
  if (live === undefined) return false;
  return beginsWithAny(
    path,
    live.keys.map((key) => [...live.at, key]),
  );
}

function beginsWithAny(path: readonly string[], beginnings: readonly (readonly string[])[]): boolean {
  return beginnings.some((beginning) => beginning.every((part, index) => path[index] === part));
}

/** Builds the file of live settings. The file exists even while it is empty, because the service gets its path at startup. */
function buildLiveFile(tree: SettingsTree, { at, keys, file }: LiveSettings): FileSpec {
  const found = keys.map((key) => [key, findRenderedValue(tree, [...at, key])] as const);
  const content = Object.fromEntries(found.filter(([, value]) => value !== undefined));
  return toJson5File(file, content);
}

function toJson5File(name: string, content: object): FileSpec {
  return { name, content: `${JSON.stringify(content, undefined, 2)}\n`, secret: false };
}

/** Returns the secret for a setting: the deployment's, or one from the stack's settings. */
function findSecret(leaf: SettingsLeaf, value: unknown): Pick<DeploymentSecret, "check" | "value"> | undefined {
  if (isDeploymentSecret(value)) return value;
  if (!leaf.secret) return undefined;
  const text = encode(leaf, value);
  return { check: text, value: text };
}

function encode(leaf: SettingsLeaf, value: unknown): string {
  return leaf.format === "text" && typeof value !== "object" ? String(value) : JSON.stringify(value);
}

function findUnknownKeys(
  definition: SettingsDefinition,
  leaves: readonly SettingsLeaf[],
  tree: SettingsTree,
): readonly ConfigProblem[] {
  const known = new Set(leaves.map((leaf) => leaf.path.join(".")));
  return listLeafPaths(tree, (path) => known.has(path.join(".")))
    .filter((path) => !known.has(path.join(".")))
    .map((path) => {
      const key = buildSettingKey(definition.service, path);
      const meant = findNearestWord(path.join("."), [...known]);
      const hint = meant === undefined ? ";" : `; did you mean ${meant}?`;
      return {
        key,
        message: `unknown setting of ${definition.service}${hint} "gatehouse ${definition.service} --help --all" lists them. Correct the name or remove it.`,
      };
    });
}

function findRejections(
  definition: SettingsDefinition,
  leaves: readonly SettingsLeaf[],
  environment: Readonly<Record<string, string>>,
): readonly ConfigProblem[] {
  try {
    readSettings(definition, { env: environment });
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const paths = new Map(leaves.map((leaf) => [leaf.env, leaf.path]));
    return error.problems.map(({ name, message }) => ({
      key: buildSettingKey(definition.service, paths.get(name) ?? [name]),
      message,
    }));
  }
}

function buildSettingKey(service: string, path: readonly string[]): string {
  return `settings.${service}.${path.join(".")}`;
}

/** A service's settings as set by the deployment: the nested keys of the service's settings file, including secrets. */
export type SettingsTree = Readonly<{ [key: string]: unknown }>;

/** Whether a value is an inner node of a tree: an object that is neither a list nor a secret. */
function isBranch(value: unknown): value is SettingsTree {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isDeploymentSecret(value);
}

export function mergeTrees(base: SettingsTree, over: SettingsTree): SettingsTree {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isBranch(below) && isBranch(value) ? mergeTrees(below, value) : value;
  }
  return merged;
}

export function findRenderedValue(tree: SettingsTree, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isBranch(value) ? value[key] : undefined), tree);
}

function listLeafPaths(
  tree: SettingsTree,
  stop: (path: readonly string[]) => boolean,
  at: readonly string[] = [],
): readonly (readonly string[])[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const path = [...at, key];
    if (value === undefined) return [];
    return isBranch(value) && !stop(path) ? listLeafPaths(value, stop, path) : [path];
  });
}
