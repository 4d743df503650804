import { z } from "zod";
import { assignAt, getValueAt } from "#daemon/settings/leaf.ts";
import { configSchema, secretKeys, type StackConfig } from "./config/config-schema.ts";
import { isNotSet, keyDeclarations } from "./config/declared-key.ts";
import { findExposureProblems } from "./config/exposure.ts";
import { findOwnDatabaseProblems } from "./services/postgres-spec.ts";
import { findObservabilityProblems } from "./services/observability/observability-args.ts";
import { findPeerProblems } from "./services/node/peers.ts";
import { findNodeKeyProblems } from "./services/node/node-keys.ts";
import { chooseNodeFamily, findNodeImageProblems, hasEntryPoint } from "./services/node/node-image.ts";
import { findNodeVersionProblems } from "./services/node/node-version.ts";
import { findPushgatewayProblems } from "./services/push-target.ts";
import { findImageKey } from "./services/row-keys.ts";
import { findUnconfiguredImages } from "./services/stack-images.ts";
import { findReplicationProblems } from "./services/replication.ts";
import { findTrustedProxiesProblems } from "./services/trusted-proxies.ts";
import {
  ConfigError,
  describeProblem,
  describeUnneeded,
  findRootKey,
  setKey,
  setKeyTo,
  type ConfigProblem,
} from "./config/config-problem.ts";

/**
 * Parses a stack's configuration.
 *
 * @param raw the values by key, as Pulumi passes them: text, with lists and objects in JSON.
 * @throws {ConfigError} with every problem found: the key, its actual value and the allowed values.
 */
export function parseConfig(raw: Readonly<Record<string, string>>): StackConfig {
  const { config, problems } = readConfig(raw);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Keys that the validation of all other keys depends on. */
const basicKeys: ReadonlySet<string> = new Set(["target", "nodeImage", "nodeFamily"]);

/**
 * Parses a stack's configuration without its invalid values, so that the rest can be validated in the same run.
 *
 * @param raw the values by key, as for {@link parseConfig}.
 * @throws {ConfigError} if nothing else can be validated.
 */
export function readConfig(
  raw: Readonly<Record<string, string>>,
): Readonly<{ config: StackConfig; problems: readonly ConfigProblem[] }> {
  const given = Object.entries(raw).filter(([key, text]) => !isNotSet(key, text));
  const values = Object.fromEntries(given.map(([key, text]) => [key, parseValue(key, text)]));
  for (const { code, path } of configSchema.safeParse(values).error?.issues ?? []) {
    // `pulumi config set --path` stores a fractional number as text.
    const [keys, found] = [path.map(String), getValueAt(values, path.map(String))];
    if (code === "invalid_type" && typeof found === "string" && /^\d+\.\d+$/.test(found)) {
      assignAt(values, keys, Number(found));
    }
  }
  const parsed = configSchema.safeParse(values);
  const invalid = (parsed.error?.issues ?? []).flatMap((issue) => describe(issue, values));
  const rejected = new Set(invalid.map(({ key }) => findRootKey(key)));
  const valid = Object.entries(values).filter(([key]) => !rejected.has(key));
  const { data } = parsed.success ? parsed : configSchema.safeParse(Object.fromEntries(valid));
  if (data === undefined || [...rejected].some((key) => basicKeys.has(key))) throw new ConfigError(invalid);
  const config = Object.freeze(withFamilyDefaults(data));
  const contradictions = findContradictions(config).filter(({ key }) => !rejected.has(findRootKey(key)));
  return { config, problems: [...invalid, ...contradictions] };
}

/** Adds the defaults for the node image's family, unless the stack overrides them. */
function withFamilyDefaults(config: StackConfig): StackConfig {
  const { user } = chooseNodeFamily(config).image;
  return hasEntryPoint(config) && user !== undefined ? { ...config, nodeUser: config.nodeUser ?? user } : config;
}

const shape: Readonly<Record<string, z.ZodType>> = configSchema.shape;

/** Parses text as JSON, unless the schema accepts the text itself, such as a version that looks like a number (`0.16`). */
function parseValue(key: string, text: string): unknown {
  const schema = shape[key];
  if (schema === undefined || schema.safeParse(text).success) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not JSON: the schema reports the expected value and the actual text.
    return text;
  }
}

function describe(issue: z.core.$ZodIssue, values: Readonly<Record<string, unknown>>): readonly ConfigProblem[] {
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    const remedy = "Correct the name or remove it";
    return issue.keys.map((key) => ({
      key,
      message: `unknown key; Pulumi.yaml lists the keys. ${remedy} with \`pulumi config rm\`.`,
      inputMessage: `unknown input. ${remedy}.`,
    }));
  }
  const [key = "", ...inner] = issue.path.map(String);
  const expected = findExpectedValue(shape[key]);
  const secret = secretKeys.some((name) => name === key);
  const found = secret ? "an invalid value" : formatActualValue(values, [key, ...inner]);
  const allowed =
    typeof expected === "string" && (inner.length === 0 || isPattern(issue)) ? `expected ${expected}` : issue.message;
  const path = [key, ...inner].join(".");
  const isPlain = inner.every((part) => /^[\w-]+$/.test(part));
  return [
    describeProblem(
      path,
      found === undefined ? `${allowed}.` : `found ${found}; ${allowed}.`,
      "Correct it",
      setKey(isPlain ? path : key, { secret }),
      ".",
    ),
  ];
}

/** Reports whether an issue's own message would show a regular expression. */
function isPattern(issue: z.core.$ZodIssue): boolean {
  return issue.code === "invalid_key" || (issue.code === "invalid_format" && issue.format === "regex");
}

/** Returns the actual value at a path as text; undefined if its parent is missing or if the value is an object or a list. */
function formatActualValue(values: Readonly<Record<string, unknown>>, path: readonly string[]): string | undefined {
  const value = getValueAt(values, path);
  if (typeof value !== "object") return value === undefined ? undefined : String(value);
  return path.length === 1 ? JSON.stringify(value) : undefined;
}

/** Returns the description of a valid value, from the schema itself or from the one inside a default or `optional()`. */
function findExpectedValue(schema: z.ZodType | undefined): unknown {
  const own = schema?.meta()?.expected;
  if (own !== undefined) return own;
  const wraps = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional;
  return wraps ? findExpectedValue(schema.def.innerType as z.ZodType) : undefined;
}

function findContradictions(config: StackConfig): readonly ConfigProblem[] {
  const { devAccounts, nodeImage, nodeUser, renderTo, restore, signerPrivateKey } = config;
  const combinations: readonly (readonly [isFound: boolean, key: string, message: string])[] = [
    [
      devAccounts && nodeImage !== undefined,
      "devAccounts",
      "found true together with nodeImage; the development accounts' keys are public and only for the devnet node. Remove one of the two.",
    ],
    [
      devAccounts && signerPrivateKey !== undefined,
      "devAccounts",
      "found true together with signerPrivateKey; remove one of the two.",
    ],
    [
      renderTo !== undefined && config.kubernetesContext !== undefined,
      "kubernetesContext",
      "found together with renderTo, which writes files and doesn't contact the cluster. Remove one of the two.",
    ],
    [
      restore !== undefined && nodeImage === undefined,
      "restore",
      "found without nodeImage; the devnet node creates its own chain. Remove it, or set nodeImage.",
    ],
    [
      nodeImage !== undefined && nodeUser === undefined,
      "nodeUser",
      "missing; expected the user ID that nodeImage runs as, because the sidecar shares its files. `docker image inspect` shows it under Config.User.",
    ],
  ];
  return [
    ...findUnsupportedKeys(config),
    ...findMissingImages(config),
    ...findPeerProblems(config),
    ...findPushgatewayProblems(config),
    ...findNodeKeyProblems(config),
    ...findNodeImageProblems(config),
    ...findExposureProblems(config),
    ...findTrustedProxiesProblems(config),
    ...findReplicationProblems(config),
    ...findOwnDatabaseProblems(config),
    ...findObservabilityProblems(config),
    ...combinations.filter(([isFound]) => isFound).map(([, key, message]) => ({ key, message })),
    ...findNodeVersionProblems(config),
  ];
}

const unset: Readonly<Record<string, unknown>> = configSchema.parse({});

/** Reports keys that the target would ignore: the description of such a key begins with the only target that reads it. */
function findUnsupportedKeys(config: StackConfig): readonly ConfigProblem[] {
  const other = config.target === "docker" ? "Kubernetes: " : "Docker: ";
  const wrong = `found together with target ${config.target}, which does not support it.`;
  return Object.entries(config)
    .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(unset[key]))
    .filter(([key]) => keyDeclarations.get(key)?.description.startsWith(other))
    .map(([key]) => describeUnneeded(key, wrong));
}

/** Reports images without a reference. On Kubernetes every image needs one, because no local engine could build it for the cluster. */
function findMissingImages(config: StackConfig): readonly ConfigProblem[] {
  if (config.target !== "kubernetes") return [];
  return findUnconfiguredImages(config)
    .map(findImageKey)
    .map((key) =>
      describeProblem(
        key,
        "missing; on Kubernetes, images must come from a registry.",
        "Push the image and ",
        setKeyTo("set ", key, { value: "registry/name@sha256:…" }),
        ".",
      ),
    );
}
