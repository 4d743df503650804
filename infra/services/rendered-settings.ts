import { settingsLeaves, type SettingsLeaf } from "#daemon/settings/leaf.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { nearestWord } from "#daemon/settings/suggestion.ts";
import { readSettings, type SettingsDefinition } from "#daemon/settings/settings.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import { isDeploymentSecret, type DeploymentSecret } from "../config/deployment-secret.ts";
import { filesDirectory, type FileSpec } from "./service-spec.ts";
import { leafPaths, valueAt, type SettingsTree } from "./settings-tree.ts";

/** A service's settings as its container gets them: variables, and for each secret a variable that names its file. */
export type RenderedSettings = Readonly<{
  environment: Readonly<Record<string, string>>;
  files: readonly FileSpec[];
  /** What a service reads again as it changes, where it was asked for. */
  liveFiles: readonly FileSpec[];
  problems: readonly ConfigProblem[];
}>;

/** Settings that a service takes from a file as well, which it reads again as it changes: these keys below `at`. */
export type LiveSettings = Readonly<{ at: readonly string[]; keys: readonly string[]; file: string }>;

/**
 * Turns settings into a container's environment and files, and has the service's own reader read them back: what the service
 * would refuse at its start is a problem here. Secrets become files, named by `<NAME>_FILE`; what `live` names becomes one file.
 */
export function renderSettings(
  definition: SettingsDefinition,
  tree: SettingsTree,
  live?: LiveSettings,
): RenderedSettings {
  const leaves = settingsLeaves(definition.service, definition.schema);
  const environment: Record<string, string> = {};
  const checked: Record<string, string> = {};
  const files: FileSpec[] = [];
  for (const leaf of leaves) {
    const value = valueAt(tree, leaf.path);
    if (value === undefined) continue;
    const hidden = secretOf(leaf, value);
    if (isLive(leaf, live)) {
      checked[leaf.env] = encode(leaf, value);
    } else if (hidden !== undefined) {
      const name = leaf.path.join("-").toLowerCase();
      files.push({ name, content: hidden.value, secret: true });
      environment[`${leaf.env}_FILE`] = `${filesDirectory}/${name}`;
      checked[leaf.env] = hidden.check;
    } else {
      environment[leaf.env] = encode(leaf, value);
      checked[leaf.env] = encode(leaf, value);
    }
  }
  return {
    environment,
    files,
    liveFiles: live === undefined ? [] : [liveFileOf(tree, live)],
    problems: [...strangers(definition, leaves, tree), ...refusals(definition, leaves, checked)],
  };
}

function isLive({ path }: SettingsLeaf, live: LiveSettings | undefined): boolean {
  if (live === undefined) return false;
  return live.keys.some((key) => [...live.at, key].every((part, index) => path[index] === part));
}

/** The file is there, if empty, before the first of its settings is set: the service is told of it at its start. */
function liveFileOf(tree: SettingsTree, { at, keys, file }: LiveSettings): FileSpec {
  const found = keys.map((key) => [key, valueAt(tree, [...at, key])] as const);
  const content = Object.fromEntries(found.filter(([, value]) => value !== undefined));
  return { name: file, content: `${JSON.stringify(content, undefined, 2)}\n`, secret: false };
}

/** A secret of the deployment's, or one that a stack wrote among its settings. */
function secretOf(leaf: SettingsLeaf, value: unknown): Pick<DeploymentSecret, "check" | "value"> | undefined {
  if (isDeploymentSecret(value)) return value;
  if (!leaf.secret) return undefined;
  const text = encode(leaf, value);
  return { check: text, value: text };
}

function encode(leaf: SettingsLeaf, value: unknown): string {
  return leaf.shape === "text" && typeof value !== "object" ? String(value) : JSON.stringify(value);
}

function strangers(
  definition: SettingsDefinition,
  leaves: readonly SettingsLeaf[],
  tree: SettingsTree,
): readonly ConfigProblem[] {
  const known = new Set(leaves.map((leaf) => leaf.path.join(".")));
  return leafPaths(tree, (path) => known.has(path.join(".")))
    .filter((path) => !known.has(path.join(".")))
    .map((path) => {
      const meant = nearestWord(path.join("."), [...known]);
      const question = meant === undefined ? ";" : `; did you mean ${meant}?`;
      return {
        key: settingKey(definition.service, path),
        message: `${definition.service} has no such setting${question} "gatehouse ${definition.service} --help --all" lists them. Correct the name or remove it.`,
      };
    });
}

function refusals(
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
      key: settingKey(definition.service, paths.get(name) ?? [name]),
      message,
    }));
  }
}

function settingKey(service: string, path: readonly string[]): string {
  return `settings.${service}.${path.join(".")}`;
}
