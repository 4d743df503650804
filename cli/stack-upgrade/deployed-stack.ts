import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { parseImageVersion, parseNodeVersion } from "#node/versions.ts";
import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import type { ConfigChange, ConfigValues } from "./pulumi/pulumi-cli.ts";
import type { StackRecord, StackTarget, UpgradeSide } from "./stack-record.ts";

export type DeployedStack = Pick<StackRecord, "stack" | "project" | "prefix" | "target" | "from">;

export const urlOnKubernetes =
  "--url is for stacks on Docker: on Kubernetes the sidecar is queried in its pod, through kubectl.";

export type RequestedVersion = Readonly<{ image: string; version: string | undefined }>;

/** Outputs of a deployed stack. On Kubernetes, there may be no public gateway, and this machine can't reach the sidecar. */
const outputsSchema = z.object({
  urls: z.object({
    public: z.object({ gateway: z.string().optional() }).optional(),
    operations: z.object({ status: z.url() }),
  }),
});

const snapshotsSchema = z.object({ className: z.string().optional() });

const defaultEngine = "unix:///var/run/docker.sock";
const defaultNamespace = "gatehouse";

/** @throws {UpgradeError} if this command can't upgrade the stack; the message describes the alternative. */
export function readDeployedStack(
  stack: string,
  { config, outputs, statusUrl }: Readonly<{ config: ConfigValues; outputs: unknown; statusUrl: string | undefined }>,
): DeployedStack {
  const project = findProject(config);
  const value = (key: string) => config[`${project}:${key}`] || undefined;
  const image = value("nodeImage") ?? "";
  const nodeVersion = value("nodeVersion");
  const version = nodeVersion ?? parseImageVersion(image)?.text;
  if (version === undefined) throw new UpgradeError("the stack does not specify its node's version: set nodeVersion.");
  return {
    stack,
    project,
    prefix: `${project}-${stack.split("/").at(-1) ?? stack}`,
    target: readTarget(stack, value, outputs, statusUrl),
    from: { image, version, ...(nodeVersion === undefined ? {} : { nodeVersion }) },
  };
}

function readTarget(
  stack: string,
  value: (key: string) => string | undefined,
  outputs: unknown,
  statusUrl: string | undefined,
): StackTarget {
  const isKubernetes = value("target") === "kubernetes";
  if (isKubernetes && value("renderTo") !== undefined) {
    throw new UpgradeError(
      "the stack is rendered to YAML (renderTo), which others apply: set nodeImage, render again and commit; docs/gitops.md explains how to keep the data.",
    );
  }
  if (isKubernetes && statusUrl !== undefined) throw new UpgradeError(urlOnKubernetes);
  const { data } = outputsSchema.safeParse(outputs);
  const rpcUrl = data?.urls.public?.gateway;
  if (data === undefined || (rpcUrl === undefined && !isKubernetes)) {
    throw new UpgradeError(
      `the stack ${stack} has no outputs of a deployed Gatehouse; run pulumi up with this release first.`,
    );
  }
  if (!isKubernetes && rpcUrl !== undefined) {
    const status = statusUrl ?? new URL(data.urls.operations.status).origin;
    return { kind: "docker", engine: value("dockerEngine") ?? defaultEngine, statusUrl: status, rpcUrl };
  }
  const snapshots = snapshotsSchema.safeParse(parseJson(value("volumeSnapshots") ?? "{}")).data;
  return {
    kind: "kubernetes",
    namespace: value("namespace") ?? defaultNamespace,
    context: value("kubernetesContext"),
    snapshotClass: snapshots?.className,
  };
}

/** Finds the project's name, which is the namespace for the stack's configuration keys. */
function findProject(config: ConfigValues): string {
  const found = Object.entries(config).flatMap(([key, value]) =>
    key.endsWith(":nodeImage") && value ? [key.slice(0, -":nodeImage".length)] : [],
  );
  const [project] = found;
  if (project !== undefined && found.length === 1) return project;
  throw new UpgradeError(
    "the stack's configuration has no readable nodeImage: the devnet node is Gatehouse's own and is upgraded with its release.",
  );
}

/** @throws {UpgradeError} if neither the request nor the image's tag specifies the version. */
export function chooseTargetSide({ from }: Pick<DeployedStack, "from">, requested: RequestedVersion): UpgradeSide {
  const version = parseNodeVersion(requested.version ?? "")?.text ?? parseImageVersion(requested.image)?.text;
  if (version === undefined) {
    throw new UpgradeError(`the tag of ${requested.image} contains no version; specify it: --node-version`);
  }
  const setsVersion = requested.version !== undefined || from.nodeVersion !== undefined;
  return { image: requested.image, version, ...(setsVersion ? { nodeVersion: version } : {}) };
}

/** Builds the configuration change that deploys one side, regardless of which side is deployed now. Pure. */
export function buildConfigChange(
  project: string,
  { image, nodeVersion }: UpgradeSide,
  otherSide: UpgradeSide,
): ConfigChange {
  const namesVersion = nodeVersion !== undefined || otherSide.nodeVersion !== undefined;
  return { [`${project}:nodeImage`]: image, ...(namesVersion ? { [`${project}:nodeVersion`]: nodeVersion } : {}) };
}
