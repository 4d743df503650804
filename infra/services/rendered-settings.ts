import { parseText } from "#daemon/settings/environment.ts";
import { listSettingsLeaves, toEnvironmentName, type SettingsLeaf } from "#daemon/settings/leaf.ts";
import { SettingsError, findNearestWord } from "#daemon/settings/problem.ts";
import { readSettings, type SettingsDefinition } from "#daemon/settings/settings.ts";
import { assignAt } from "#daemon/settings/value.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import { isDeploymentSecret, type DeploymentSecret } from "../config/deployment-secret.ts";
import { filesDirectory, liveFilesDirectory, liveSecretsDirectory, type FileSpec } from "./service-spec.ts";

/** A service's settings as its container gets them: variables, and for each secret a variable that names its file. */
export type RenderedSettings = Readonly<{
  environment: Readonly<Record<string, string>>;
  files: readonly FileSpec[];
  /** Files that the service reads again as they change, if any were requested. */
  liveFiles: readonly FileSpec[];
  /** Secrets whose change hands the service over. */
  liveSecrets: readonly FileSpec[];
  problems: readonly ConfigProblem[];
}>;

/** Settings that a service also takes from a file, which it reads again as it changes: these keys below `at`. */
export type LiveSettings = Readonly<{ at: readonly string[]; keys: readonly string[]; file: string }>;

/** A service's settings file whose change hands the service over. */
export type HandedSettings = Readonly<{
  file: string;
  /** Settings that stay in the environment, by the beginnings of their paths: another value makes another container anyway. */
  fixed: readonly (readonly string[])[];
  /** Whether a change of its secrets hands it over, too. Not one that pays or is paid: two processes may not have two ledgers or signers. */
  withSecrets: boolean;
}>;

/** Settings of a service in files that it reads again as they change. */
export type SettingsDelivery = Readonly<{ live?: LiveSettings | undefined; handed?: HandedSettings | undefined }>;

/**
 * Renders settings into a container's environment and files, and has the service's own reader read them back: what the service would refuse at its start
 * is a problem here. Secrets become files, named by `<NAME>_FILE`; the settings of `live` become one file, and with `handed` the rest, but for secrets,
 * another.
 */
export function renderSettings(
  definition: SettingsDefinition,
  tree: SettingsTree,
  { live, handed }: SettingsDelivery = {},
): RenderedSettings {
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const environment: Record<string, string> = {};
  const checked: Record<string, string> = {};
  const secrets: FileSpec[] = [];
  const areSecretsLive = handed?.withSecrets ?? false;
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
    } else if (handed !== undefined && !beginsWithAny(leaf.path, handed.fixed)) {
      const text = encode(leaf, value);
      if (text !== "") assignAt(inFile, leaf.path, parseText(leaf, text));
      checked[leaf.env] = text;
    } else {
      environment[leaf.env] = encode(leaf, value);
      checked[leaf.env] = encode(leaf, value);
    }
  }
  if (handed !== undefined) {
    environment[toEnvironmentName(definition.service, ["settingsPath"])] = `${liveFilesDirectory}/${handed.file}`;
  }
  return {
    environment,
    files: areSecretsLive ? [] : secrets,
    liveSecrets: areSecretsLive ? secrets : [],
    liveFiles: [
      ...(live === undefined ? [] : [buildLiveFile(tree, live)]),
      ...(handed === undefined ? [] : [toJson5File(handed.file, inFile)]),
    ],
    problems: [...findUnknownKeys(definition, leaves, tree), ...findRefusals(definition, leaves, checked)],
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

/** Builds the file of live settings. It is there, if empty, before the first of its settings is set: the service gets its path at its start. */
function buildLiveFile(tree: SettingsTree, { at, keys, file }: LiveSettings): FileSpec {
  const found = keys.map((key) => [key, findRenderedValue(tree, [...at, key])] as const);
  const content = Object.fromEntries(found.filter(([, value]) => value !== undefined));
  return toJson5File(file, content);
}

function toJson5File(name: string, content: object): FileSpec {
  return { name, content: `${JSON.stringify(content, undefined, 2)}\n`, secret: false };
}

/** Finds the secret of a setting: the deployment's, or one that a stack wrote among its settings. */
function findSecret(leaf: SettingsLeaf, value: unknown): Pick<DeploymentSecret, "check" | "value"> | undefined {
  if (isDeploymentSecret(value)) return value;
  if (!leaf.secret) return undefined;
  const text = encode(leaf, value);
  return { check: text, value: text };
}

function encode(leaf: SettingsLeaf, value: unknown): string {
  return leaf.shape === "text" && typeof value !== "object" ? String(value) : JSON.stringify(value);
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
      const meant = findNearestWord(path.join("."), [...known]);
      const hint = meant === undefined ? ";" : `; did you mean ${meant}?`;
      return {
        key: buildSettingKey(definition.service, path),
        message: `${definition.service} has no such setting${hint} "gatehouse ${definition.service} --help --all" lists them. Correct the name or remove it.`,
      };
    });
}

function findRefusals(
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

/** A service's settings as the deployment sets them: the nested keys of the service's settings file, secrets included. */
export type SettingsTree = Readonly<{ [key: string]: unknown }>;

/** Whether a value is an inner part of a tree: an object that is neither a list nor a secret. */
function isBranch(value: unknown): value is SettingsTree {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isDeploymentSecret(value);
}

/** Merges `over` into `base`, key by key; if both have a value, `over` wins. */
export function mergeTrees(base: SettingsTree, over: SettingsTree): SettingsTree {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isBranch(below) && isBranch(value) ? mergeTrees(below, value) : value;
  }
  return merged;
}

/** Finds the value at a path; `undefined` if there is none. */
export function findRenderedValue(tree: SettingsTree, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isBranch(value) ? value[key] : undefined), tree);
}

/** Lists the paths of all values in a tree that are no branch, or a branch that `stop` names. */
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
