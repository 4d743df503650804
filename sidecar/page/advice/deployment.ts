import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { formatShellWords, quoteShellWord } from "#daemon/command-line/shell-word.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { CommandText } from "../../upkeep/command-text.ts";
import type { OpsLocation } from "../../upkeep/drivers/ops-location.ts";
import type { Condition, ConditionType } from "#status/condition.ts";

export type Deployment = Readonly<{
  /** Queries the node's RPC. Runs through `upkeep.commandPrefix` if that is set, because the node's address may be valid only where the sidecar runs. */
  queryRpc: string;
  restartsHung: boolean;
  showProcess?: string;
  showLog?: string;
  start?: string;
  showDisk?: string;
  lint?: string;
  status: string;
  resume: string;
  adopt: string;
}>;

type DeploymentInfo = Readonly<{
  command: CommandText;
  statusUrl: string;
  ops: OpsLocation | undefined;
  configPath: string | undefined;
  dataPath: string | undefined;
}>;

export function buildDeployment(settings: SidecarSettings, facts: DeploymentInfo): Deployment {
  const { command, statusUrl, configPath } = facts;
  const gatehouse = settings.upkeep.commandPrefix ?? formatOwnCommand();
  const body = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`;
  // Only the origin, because the rest of a URL may contain a key.
  const rpc = new URL(settings.node.httpUrl).origin;
  return {
    queryRpc:
      settings.upkeep.commandPrefix === undefined
        ? `curl -sS -m 5 -H 'Content-Type: application/json' -d '${body}' ${quoteShellWord(rpc)}`
        : `${gatehouse} doctor`,
    restartsHung: settings.restart.driver === "docker" || settings.restart.driver === "kubernetes",
    ...buildDriverCommands(settings, facts),
    ...(configPath === undefined ? {} : { lint: `${gatehouse} config lint ${quoteShellWord(configPath)}` }),
    status: `${gatehouse} status --url ${quoteShellWord(statusUrl)}`,
    resume: command("resume"),
    adopt: command("adopt"),
  };
}

type DriverCommands = Pick<Deployment, "showProcess" | "showLog" | "start" | "showDisk">;

function buildDriverCommands(settings: SidecarSettings, { ops, dataPath }: DeploymentInfo): DriverCommands {
  switch (settings.restart.driver) {
    case "docker":
      return buildDockerCommands(settings.docker.container);
    case "kubernetes":
      return buildKubernetesCommands(settings.kubernetes);
    case "compose":
      return buildComposeCommands(settings);
    case "ops":
    case "none":
      return {
        showProcess: `ss -ltnp 'sport = :${readPort(settings.node.httpUrl)}'`,
        ...(ops === undefined || settings.restart.driver === "none"
          ? {}
          : { start: `cd ${quoteShellWord(ops.directory)} && ${formatShellWords(ops.start)}` }),
        ...(dataPath === undefined ? {} : { showDisk: `df -h ${quoteShellWord(dataPath)}` }),
      };
  }
}

function buildDockerCommands(container: string | undefined): DriverCommands {
  if (container === undefined) return {};
  const name = quoteShellWord(container);
  return {
    showProcess: `docker ps --all --filter ${quoteShellWord(`name=${container}`)}`,
    showLog: `docker logs --tail 50 ${name}`,
    start: `docker start ${name}`,
    showDisk: `docker exec ${name} df -h`,
  };
}

function buildKubernetesCommands({ namespace, pod, container }: SidecarSettings["kubernetes"]): DriverCommands {
  if (pod === undefined) return {};
  const kubectl = `kubectl${namespace === undefined ? "" : ` -n ${quoteShellWord(namespace)}`}`;
  const [name, quotedContainer] = [quoteShellWord(pod), quoteShellWord(container)];
  return {
    showProcess: `${kubectl} describe pod ${name}`,
    showLog: `${kubectl} logs ${name} -c ${quotedContainer} --tail 50`,
    showDisk: `${kubectl} exec ${name} -c ${quotedContainer} -- df -h`,
  };
}

function buildComposeCommands({ compose, node }: SidecarSettings): DriverCommands {
  const { service } = compose;
  const directory = compose.directory ?? node.workspace;
  if (service === undefined || directory === undefined) return {};
  const run = (...more: readonly string[]) =>
    `cd ${quoteShellWord(directory)} && ${formatShellWords(["docker", "compose", ...more])}`;
  return {
    showProcess: run("ps", "--all", service),
    showLog: run("logs", "--tail", "50", service),
    start: run("start", service),
    showDisk: run("exec", service, "df", "-h"),
  };
}

function readPort(url: string): string {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? "443" : "80") : port;
}

export type Step = Readonly<{ text: string; command?: string }>;

export type Advice = (condition: Condition, deployment: Deployment) => readonly Step[];

export type AdviceTable = Readonly<Partial<Record<ConditionType, Advice>>>;

export function step(text: string, command?: string): Step {
  return command === undefined ? { text } : { text, command };
}
