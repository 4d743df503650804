import { runtime, type Output } from "@pulumi/pulumi";
import type { StackConfig } from "./config/config-schema.ts";
import { runInContainer } from "./docker/engine-exec.ts";
import { listUnreadyPods } from "./kubernetes/unready-pods.ts";
import { createEngineClient, type EngineClient } from "./preflight/engine-client.ts";
import { listIncludedServices } from "./services/optional-services.ts";
import { listOperatedServices } from "./stack-services.ts";
import { buildReadyCheck, describeReasons, type UnreadyService } from "./unready-service.ts";

/** Creates the client for a stack's Docker engine; returns `undefined` on Kubernetes, and for an engine that only Docker's own client can reach. */
export function createStackEngine({ target, dockerEngine }: StackConfig): EngineClient | undefined {
  if (target !== "docker") return undefined;
  return createEngineClient(dockerEngine, process.env["DOCKER_CERT_PATH"] !== undefined);
}

/**
 * After a stack has been deployed, lists the services that run but are not ready yet, with reasons: a node that syncs for days does not
 * delay an update. Returns `undefined` in a preview and for rendered manifests; the value of the output is `undefined` for an engine that
 * can't be queried.
 */
export function listUnready(
  config: StackConfig,
  { prefix, deployed }: Readonly<{ prefix: string; deployed: Output<unknown> }>,
): Output<readonly UnreadyService[] | undefined> | undefined {
  if (config.renderTo !== undefined || runtime.isDryRun()) return undefined;
  const { kubernetesContext: context, namespace } = config;
  const engine = createStackEngine(config);
  return deployed.apply(async () => {
    const services = ["node", "facilitator", "resource-server", ...listIncludedServices(config)];
    if (config.target === "kubernetes") return await listUnreadyPods({ context, namespace, prefix, services });
    return engine === undefined ? undefined : await listUnreadyServices(engine, prefix);
  });
}

/**
 * Lists the services in a stack that are not ready, with reasons, by running the images' own health check in their containers. Services
 * that can't be queried are omitted: the deployment has already checked their liveness.
 */
export async function listUnreadyServices(engine: EngineClient, prefix: string): Promise<readonly UnreadyService[]> {
  const found = await Promise.all(
    listOperatedServices().map(async ({ name, port }) => {
      const container = `${prefix}-${name}`;
      const command = buildReadyCheck(port);
      const said = await runInContainer(engine, container, command).catch(() => undefined);
      const reason = describeReasons(said ?? "");
      return reason === "" ? [] : [{ service: name, reason, check: `docker exec ${container} ${command.join(" ")}` }];
    }),
  );
  return found.flat();
}
