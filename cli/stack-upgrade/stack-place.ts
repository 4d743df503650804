import { z } from "zod";
import { parseImageVersion, parseNodeVersion } from "#node/versions.ts";
import type { ConfigChange, ConfigValues } from "./pulumi/pulumi-cli.ts";
import type { UpgradeSide } from "./stack-record.ts";

/** A deployed stack as its configuration and outputs tell it. */
export type StackPlace = Readonly<{
  stack: string;
  project: string;
  prefix: string;
  engine: string;
  statusUrl: string;
  rpcUrl: string;
  from: UpgradeSide;
}>;

/** The image and, where it was named, the version that a stack is to be upgraded to. */
export type RequestedVersion = Readonly<{ image: string; version: string | undefined }>;

const outputsShape = z.object({
  urls: z.object({ public: z.object({ gateway: z.url() }), operations: z.object({ status: z.url() }) }),
});

const defaultEngine = "unix:///var/run/docker.sock";

/** What a stack's containers and volumes are called that an upgrade touches. */
export function namesOf({ prefix }: Readonly<{ prefix: string }>) {
  return {
    node: `${prefix}-node`,
    sidecar: `${prefix}-sidecar`,
    job: `${prefix}-node-upgrade`,
    look: `${prefix}-node-look`,
    volume: `${prefix}-node-workspace`,
  };
}

/**
 * Reads where a stack runs.
 *
 * @param statusUrl where its sidecar is asked, if not where the stack says.
 * @throws {Error} for a stack that can't be upgraded by this command, with what to do instead.
 */
export function readStackPlace(
  stack: string,
  { config, outputs, statusUrl }: Readonly<{ config: ConfigValues; outputs: unknown; statusUrl: string | undefined }>,
): StackPlace {
  const project = projectOf(config);
  const value = (key: string) => config[`${project}:${key}`] || undefined;
  if (value("target") === "kubernetes") throw new Error(onKubernetes);
  const image = value("nodeImage") ?? "";
  const nodeVersion = value("nodeVersion");
  const version = nodeVersion ?? parseImageVersion(image)?.text;
  if (version === undefined) throw new Error("the stack does not say which version its node is: set nodeVersion.");
  const parsed = outputsShape.safeParse(outputs);
  if (!parsed.success) {
    throw new Error(
      `the stack ${stack} has no outputs of a deployed Gatehouse; run pulumi up with this release first.`,
    );
  }
  const { urls } = parsed.data;
  return {
    stack,
    project,
    prefix: `${project}-${stack.split("/").at(-1) ?? stack}`,
    engine: value("dockerEngine") ?? defaultEngine,
    statusUrl: statusUrl ?? new URL(urls.operations.status).origin,
    rpcUrl: urls.public.gateway,
    from: { image, version, ...(nodeVersion === undefined ? {} : { nodeVersion }) },
  };
}

const onKubernetes =
  "on Kubernetes this command does nothing yet. Take a VolumeSnapshot of the node's claim (kubectl create job --from=cronjob/volume-snapshot where volumeSnapshots is set), then set nodeImage and run pulumi up; to go back, set the old image, run pulumi up, and restore the snapshot for the data.";

/** The namespace of the stack's keys: the project's name. */
function projectOf(config: ConfigValues): string {
  const found = Object.entries(config).flatMap(([key, value]) =>
    key.endsWith(":nodeImage") && value ? [key.slice(0, -":nodeImage".length)] : [],
  );
  const [project] = found;
  if (project !== undefined && found.length === 1) return project;
  throw new Error(
    "the stack's configuration names no nodeImage that can be read: the devnet node is Gatehouse's own and comes with its release.",
  );
}

/** What the stack is to say of the new version; undefined where nothing tells which version that is. Pure. */
export function decideNewSide(
  { from }: Pick<StackPlace, "from">,
  requested: RequestedVersion,
): UpgradeSide | undefined {
  const version = parseNodeVersion(requested.version ?? "")?.text ?? parseImageVersion(requested.image)?.text;
  if (version === undefined) return undefined;
  const saysVersion = requested.version !== undefined || from.nodeVersion !== undefined;
  return { image: requested.image, version, ...(saysVersion ? { nodeVersion: version } : {}) };
}

/** What has to change in the configuration for one side to be deployed, whichever is now. Pure. */
export function buildConfigChange(
  project: string,
  { image, nodeVersion }: UpgradeSide,
  other: UpgradeSide,
): ConfigChange {
  const namesVersion = nodeVersion !== undefined || other.nodeVersion !== undefined;
  return {
    [`${project}:nodeImage`]: image,
    ...(namesVersion ? { [`${project}:nodeVersion`]: nodeVersion } : {}),
  };
}
