import { posix } from "node:path";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { SidecarSettings } from "../../settings.ts";
import {
  createLocalNodeCli,
  createNodeCli,
  chooseVersionProgram,
  type NodeCli,
  type NodeCliRunner,
  type ToolLocation,
} from "./node-cli.ts";
import type { NodeLayout } from "#node/layout.ts";
import { deriveBinDirectory } from "#node/versions.ts";
import type { NodeDriver } from "./driver.ts";
import type { OpsDriverDependencies } from "./ops-driver.ts";
import { findOpsLocation } from "./ops-location.ts";

/** Loads and creates the driver. @throws {StartupError} if the driver needs a setting that is missing. */
export async function selectDriver(
  settings: SidecarSettings,
  layout: () => NodeLayout,
  resources: AsyncDisposableStack,
  dependencies: OpsDriverDependencies,
): Promise<NodeDriver | undefined> {
  const { timeoutMs, driver } = settings.restart;
  const passes = settings.node.environment;
  switch (driver) {
    case "ops": {
      const { createOpsDriver } = await import("./ops-driver.ts");
      return createOpsDriver(
        { ...settings.ops, timeoutMs },
        () => ({
          ...findOpsLocation(settings, layout()),
          binDirectory: layout().binDirectory,
          passes: [...passes, ...listKeyVariables(layout())],
        }),
        dependencies,
      );
    }
    case "compose": {
      const { composeVariables, createComposeDriver } = await import("./compose-driver.ts");
      const directory = deriveComposeDirectory(settings, layout);
      const psTimeoutMs = settings.nodeCli.timeoutMs;
      const limits = { timeoutMs, psTimeoutMs, passes: [...composeVariables, ...passes] };
      return createComposeDriver({ ...settings.compose, directory, ...limits }, dependencies.output);
    }
    case "docker": {
      const { createDockerDriver, createDockerEngine } = await import("./docker-driver.ts");
      const container = requireSetting("docker.container", settings.docker.container);
      const engine = createDockerEngine({ ...settings.docker, timeoutMs });
      return createDockerDriver({ ...settings.docker, container }, engine);
    }
    case "kubernetes": {
      const { strategy } = settings.kubernetes;
      if (strategy === "signal") {
        const { createSignalDriver } = await import("./signal-driver.ts");
        const { processName } = settings.kubernetes;
        return createSignalDriver({ processName: () => processName ?? nameProcess(layout()), timeoutMs });
      }
      const { createKubernetesApi } = await import("./kubernetes-api.ts");
      const { createKubernetesDriver } = await import("./kubernetes-driver.ts");
      const pod = requireSetting("kubernetes.pod", settings.kubernetes.pod);
      const api = resources.use(createKubernetesApi({ ...settings.kubernetes, timeoutMs }));
      return createKubernetesDriver({ ...settings.kubernetes, pod, timeoutMs }, api);
    }
    case "none":
      return undefined;
  }
}

/** @throws {StartupError} if the runner needs a setting that is missing. */
export async function selectNodeCli(
  settings: SidecarSettings,
  layout: () => NodeLayout,
  resources: AsyncDisposableStack,
): Promise<NodeCli | undefined> {
  const { nodeCli, restart } = settings;
  const defaultRunner = restart.driver === "ops" || restart.driver === "none" ? "local" : restart.driver;
  const runner = nodeCli.runner === "auto" ? defaultRunner : nodeCli.runner;
  if (runner === "none") return undefined;
  const form = () => ({
    takesConfig: layout().nodeCliTakesConfig,
    configArgument: nodeCli.configArgument ?? deriveConfigPath(runner, settings, layout()),
  });
  const run = await createRunner(runner, settings, layout, resources);
  if (runner !== "local") return createNodeCli(form, run);
  // In a container, the version is known from the image's tag and the running node.
  const program = () => ({
    ...locateTool(runner, settings, layout()),
    command: chooseVersionProgram(layout().family, nodeCli.command),
  });
  return createNodeCli(form, run, createLocalNodeCli(nodeCli, program));
}

type Runner = "local" | "compose" | "docker" | "kubernetes";

/** Derives the path of node.conf for `node_cli`. A pod's exec starts in the image's own directory and can't be given another. */
function deriveConfigPath(runner: Runner, settings: SidecarSettings, layout: NodeLayout): string {
  if (runner === "local") return layout.configPath;
  const { configArgument } = layout.family.image;
  return runner === "docker" || runner === "compose"
    ? configArgument
    : posix.join(deriveContainerBinDirectory(settings, layout), configArgument);
}

function deriveContainerBinDirectory({ nodeCli, node }: SidecarSettings, { kind, family }: NodeLayout): string {
  const nodeDirectory = node.nodeDirectory ?? family.nodeDirectory;
  return nodeCli.containerBinDirectory ?? `/data/${deriveBinDirectory(kind, nodeDirectory)}`;
}

function locateTool(runner: Runner, settings: SidecarSettings, layout: NodeLayout): ToolLocation {
  const { family, binDirectory } = layout;
  const directory = runner === "local" ? binDirectory : deriveContainerBinDirectory(settings, layout);
  return { directory, command: settings.nodeCli.command ?? family.programs.tool, preload: family.preload };
}

async function createRunner(
  runner: Runner,
  settings: SidecarSettings,
  layout: () => NodeLayout,
  resources: AsyncDisposableStack,
): Promise<NodeCliRunner> {
  const { nodeCli } = settings;
  const passes = settings.node.environment;
  const locate = () => locateTool(runner, settings, layout());
  if (runner === "local") return createLocalNodeCli({ ...nodeCli, passes }, locate);
  const { timeoutMs } = nodeCli;
  if (runner === "compose") {
    const { command, service } = settings.compose;
    if (service === undefined) throw new StartupError(noService);
    const { buildComposeCommand, composeVariables, createComposeNodeCli } = await import("./compose-driver.ts");
    const exec = buildComposeCommand(command, ["exec"]);
    const directory = deriveComposeDirectory(settings, layout);
    const variables = [...composeVariables, ...passes];
    return createComposeNodeCli({ ...nodeCli, exec, service, passes: variables }, { directory, tool: locate });
  }
  if (runner === "docker") {
    const { createDockerEngine, createDockerNodeCli } = await import("./docker-driver.ts");
    const container = requireSetting("docker.container", settings.docker.container);
    const engine = createDockerEngine({ ...settings.docker, timeoutMs });
    return createDockerNodeCli({ ...nodeCli, container }, locate, engine);
  }
  const { createKubernetesApi } = await import("./kubernetes-api.ts");
  const { createKubernetesNodeCli } = await import("./kubernetes-driver.ts");
  const pod = requireSetting("kubernetes.pod", settings.kubernetes.pod);
  const api = resources.use(createKubernetesApi({ ...settings.kubernetes, timeoutMs }));
  return createKubernetesNodeCli({ ...nodeCli, ...settings.kubernetes, pod }, locate, api);
}

/** Lists the variables that contain the passwords for the node's keys, which `ops` may read from its environment. */
function listKeyVariables({ family: { image } }: NodeLayout): readonly string[] {
  return image.variables === undefined ? [] : [image.variables.keysPassword, image.variables.portalPassword];
}

function nameProcess({ family: { programs } }: NodeLayout): string {
  return programs.process ?? "node";
}

function deriveComposeDirectory({ compose, node }: SidecarSettings, layout: () => NodeLayout): () => string {
  return () => compose.directory ?? node.workspace ?? layout().binDirectory;
}

const noService =
  "compose.service is missing: node_cli runs inside the node's container. Set GATEHOUSE_SIDECAR_COMPOSE_SERVICE to the node's " +
  "service in the compose file, or nodeCli.runner to local where node_cli runs on this machine.";

function requireSetting(name: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw new StartupError(`${name} is missing; the configured driver or node_cli runner needs it to reach the node.`);
}
