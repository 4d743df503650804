import { existsSync, readFileSync } from "node:fs";
import { basename, isAbsolute } from "node:path";
import type { Input } from "@pulumi/pulumi";
import { explainUnreadable } from "#daemon/files/regular-file.ts";
import { decodeUtf8 } from "#daemon/files/utf8.ts";
import { findFamily, nodeFamilies, type NodeFamily } from "#node/families.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import {
  describeInvalid,
  describeMissing,
  describeUnneeded,
  describeProblem,
  setKey,
  type ConfigProblem,
} from "../../config/config-problem.ts";
import type { DeploymentSecret } from "../../config/deployment-secret.ts";
import type { MountedFile } from "../service-spec.ts";
import { chainDataDirectory, keysDirectory, locateConf, workspaceDirectory } from "./node-layout.ts";

type Secret = (text: string) => DeploymentSecret;

/** Chooses the family of a stack's node: the configured one, else the one whose tag format matches `nodeImage`, else the first. */
export function chooseNodeFamily({
  nodeFamily,
  nodeImage = "",
}: Pick<StackConfig, "nodeFamily" | "nodeImage">): NodeFamily {
  if (nodeFamily !== undefined) return findFamily(nodeFamily);
  const tag = /:([^/:]+)$/.exec(nodeImage.split("@")[0] ?? "")?.[1];
  const found = tag === undefined ? undefined : nodeFamilies.find(({ image }) => image.tag?.test(tag) === true);
  return found ?? nodeFamilies[0];
}

/** Returns the user in the node's own image; undefined for the devnet, which is one of Gatehouse's images. */
export function findImageUser({ nodeImage, nodeUser }: StackConfig): number | undefined {
  return nodeImage === undefined ? undefined : nodeUser;
}

/** Whether the stack's node image copies its programs to the workspace on each start. */
export function hasEntryPoint(config: Pick<StackConfig, "nodeFamily" | "nodeImage">): boolean {
  return config.nodeImage !== undefined && chooseNodeFamily(config).image.programs === "entry-point";
}

export function listPathVariables(family: NodeFamily): Readonly<Record<string, string>> {
  const { variables } = family.image;
  if (variables === undefined) return {};
  const { genesis } = listOwnPaths(family);
  return {
    [variables.config]: locateConf(family),
    [variables.keys]: keysDirectory,
    ...(genesis === undefined ? {} : { [variables.genesis]: genesis }),
  };
}

/** Lists the environment variables for a node's image that may contain a secret: the password for its keys, and the variables that the stack configures. */
export function listSecretVariables(config: StackConfig, secret: Secret): Readonly<Record<string, Input<string>>> {
  const { nodeKeysPassword: password, nodeEnvironment = {} } = config;
  const passwords =
    password === undefined
      ? []
      : listPasswordVariables(chooseNodeFamily(config)).map((name) => [name, password] as const);
  return Object.fromEntries(
    [...passwords, ...Object.entries(nodeEnvironment)].map(([name, text]) => [name, secret(text).value]),
  );
}

function listPasswordVariables({ image: { variables } }: NodeFamily): readonly string[] {
  return variables === undefined ? [] : [variables.keysPassword, variables.portalPassword];
}

export function listPlacedFiles(config: StackConfig, secret: Secret): readonly MountedFile[] {
  const { genesis, forks } = listOwnPaths(chooseNodeFamily(config));
  const { nodeGenesis, nodeForks, nodeFiles = {} } = config;
  const own = [
    { path: genesis, text: nodeGenesis },
    { path: forks, text: nodeForks },
  ] as const;
  return [
    ...own.flatMap(({ path, text }) =>
      path === undefined || text === undefined ? [] : [{ path, content: readContent(text) }],
    ),
    ...Object.entries(nodeFiles).map(([path, text]) => ({
      path: `${workspaceDirectory}/${path}`,
      content: secret(readContent(text)).value,
    })),
  ];
}

function listOwnPaths({ image: { genesisPath }, forksPath }: NodeFamily) {
  return { genesis: locateInWorkspace(genesisPath), forks: locateInWorkspace(forksPath) };
}

function locateInWorkspace(path: string | undefined): string | undefined {
  return path === undefined ? undefined : `${workspaceDirectory}/${path}`;
}

const filePrefix = "file:";

/** Returns the path in a value that refers to a local file; returns undefined if the value is the content itself. */
function findSource(text: string): string | undefined {
  return text.startsWith(filePrefix) ? text.slice(filePrefix.length) : undefined;
}

function readContent(text: string): string {
  const source = findSource(text);
  return source === undefined ? text : readFileSync(source, "utf8");
}

/** Settings for a node's image, including those that apply only to an image whose entry point prepares the node. */
const imageKeys = [
  "nodeFamily",
  "nodeKeysPassword",
  "nodeGenesis",
  "nodeForks",
  "nodeEnvironment",
  "nodeFiles",
  "nodeUlimits",
] as const;
const entryPointKeys: ReadonlySet<string> = new Set(["nodeKeysPassword", "nodeGenesis", "nodeForks", "nodeFiles"]);

/** Reports settings that a node's image does not use, so that none is silently ignored. */
export function findNodeImageProblems(config: StackConfig): readonly ConfigProblem[] {
  const given = imageKeys.filter((key) => config[key] !== undefined);
  if (config.nodeImage === undefined) {
    return given.map((key) => describeUnneeded(key, "found without nodeImage; the devnet node does not support it."));
  }
  const family = chooseNodeFamily(config);
  const misplaced = family.image.programs === "entry-point" ? [] : given.filter((key) => entryPointKeys.has(key));
  const remedy = `only an image whose entry point prepares the node supports it. Remove it, or specify the family of nodeImage`;
  return [
    ...misplaced.map((key) =>
      describeProblem(key, `found with the node family ${family.name};`, remedy, setKey("nodeFamily"), "."),
    ),
    ...findIgnoredSettings(config),
    ...findTakenNames(config, family),
    ...findUnreadableFiles(config),
  ];
}

function findIgnoredSettings({ settings }: StackConfig): readonly ConfigProblem[] {
  return Object.keys(settings.node ?? {}).map((key) =>
    describeUnneeded(
      `settings.node.${key}`,
      "found together with nodeImage, but they apply to the devnet. Configure a real node in its node.conf, nodeEnvironment and limits.node.",
    ),
  );
}

function findTakenNames(config: StackConfig, family: NodeFamily): readonly ConfigProblem[] {
  const taken = new Set([...Object.keys(listPathVariables(family)), ...listPasswordVariables(family)]);
  const { genesis, forks } = listOwnPaths(family);
  const paths = new Set([locateConf(family), genesis, forks].filter((path) => path !== undefined));
  const directories = [chainDataDirectory, keysDirectory, `${workspaceDirectory}/bin`];
  const isTaken = (path: string) =>
    paths.has(path) || directories.some((directory) => path === directory || path.startsWith(`${directory}/`));
  return [
    ...Object.keys(config.nodeEnvironment ?? {})
      .filter((name) => taken.has(name))
      .map((name) => describeUnneeded(`nodeEnvironment.${name}`, "found, but the stack sets this variable itself.")),
    ...Object.keys(config.nodeFiles ?? {})
      .filter((path) => isTaken(`${workspaceDirectory}/${path}`))
      .map((path) =>
        describeUnneeded(
          `nodeFiles["${path}"]`,
          "found, but the stack, the node or its image uses that path; use nodeGenesis or nodeForks instead.",
        ),
      ),
  ];
}

function findUnreadableFiles({ nodeGenesis, nodeForks, nodeFiles = {} }: StackConfig): readonly ConfigProblem[] {
  const given = { nodeGenesis, nodeForks, ...toPaths(nodeFiles) };
  return Object.entries(given).flatMap(([key, text]) => {
    const path = text === undefined ? undefined : findSource(text);
    const problem = path === undefined ? undefined : findFileProblem(path);
    return problem === undefined ? [] : [describeInvalid(key, `found ${filePrefix}${path}, but ${problem}.`)];
  });
}

function findFileProblem(path: string): string | undefined {
  if (!isAbsolute(path) || !existsSync(path))
    return "the file does not exist; expected file: and the absolute path of a file on this machine";
  try {
    decodeUtf8(readFileSync(path));
    return undefined;
  } catch (cause) {
    return `the file can't be read (${explainUnreadable(cause)}); expected a readable text file`;
  }
}

function toPaths(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`nodeFiles["${path}"]`, text]));
}

export function findMissingNodeValues(config: StackConfig): readonly ConfigProblem[] {
  if (!hasEntryPoint(config)) return [];
  const { genesisPath = "" } = chooseNodeFamily(config).image;
  const password = describeMissing(
    "nodeKeysPassword",
    "missing; expected the password of domain.key and stabilizing.key, without which the image does not start the node.",
    { secret: true },
  );
  const genesis = describeMissing(
    "nodeGenesis",
    `missing; expected the chain's ${basename(genesisPath)}, from which the image creates the node's initial data.`,
    { value: `file:/path/of/${basename(genesisPath)}` },
  );
  return [
    ...(config.nodeKeysPassword === undefined ? [password] : []),
    ...(config.nodeGenesis === undefined && config.restore === undefined ? [genesis] : []),
  ];
}
