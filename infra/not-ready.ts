import { runtime, type Output } from "@pulumi/pulumi";
import type { StackConfig } from "./config/config-schema.ts";
import { listUnreadyServices } from "./docker/unready-services.ts";
import { listUnreadyPods } from "./kubernetes/unready-pods.ts";
import { createEngineClient, type EngineClient } from "./preflight/engine-client.ts";
import type { UnreadyService } from "./unready-service.ts";

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
    if (config.target === "kubernetes") return await listUnreadyPods({ context, namespace, prefix });
    return engine === undefined ? undefined : await listUnreadyServices(engine, prefix);
  });
}
