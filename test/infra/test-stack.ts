import { tokenAddress } from "#devnet/token/address.ts";
import { runOnEngine, type EngineStack } from "../support/engine/engine-stack.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { listDeployedResources } from "./deployed-resources.ts";
import { asConfig, findFreeHostPorts } from "./host-ports.ts";
import type { TestImages } from "./test-images.ts";

/** A stack that the Pulumi program deploys to Docker, on an engine without Pulumi. */
export type TestStack = EngineStack &
  Readonly<{
    /** Prefix of the names of everything that was created. */
    prefix: string;
    /**
     * Recreates the file-delivery containers whose names end like this, for a changed configuration, as `pulumi up`
     * does.
     */
    deliver: (nameEnd: "-live" | "-sidecar-secrets", changed: Readonly<Record<string, string>>) => Promise<void>;
    urls: Readonly<
      Record<
        "gateway" | "privateGateway" | "resourceServer" | "resourceServerOperations" | "status" | "pushgateway",
        string
      >
    >;
  }>;

/**
 * Runs the whole stack with the devnet node and its accounts, published on unused ports; `more` is additional
 * configuration.
 */
export async function startTestStack(
  url: string,
  images: TestImages,
  more: Readonly<Record<string, string>> = {},
): Promise<TestStack> {
  const prefix = createUniqueName("stack");
  const ports = await findFreeHostPorts();
  const config = {
    dockerEngine: url,
    devAccounts: "true",
    tokenAddress,
    gatehouseImage: images.gatehouse,
    devnetImage: images.devnet,
    pushgatewayImage: images.pushgateway,
    ...asConfig(ports),
    ...more,
  };
  const stack = await runOnEngine(await listDeployedResources(config, prefix), { url, prefix });
  return {
    ...stack,
    prefix,
    deliver: async (nameEnd, changed) => {
      for (const resource of await listDeployedResources({ ...config, ...changed }, prefix)) {
        const isDelivery = resource.type.endsWith(":Container") && String(resource.props["name"]).endsWith(nameEnd);
        if (isDelivery) await stack.replace(resource);
      }
    },
    urls: {
      gateway: `http://127.0.0.1:${ports.gatewayPort}`,
      privateGateway: `http://127.0.0.1:${ports.privateGatewayPort}`,
      resourceServer: `http://127.0.0.1:${ports.resourceServerPort}`,
      resourceServerOperations: `http://127.0.0.1:${ports.resourceServerOperationsPort}`,
      status: `http://127.0.0.1:${ports.statusPort}`,
      pushgateway: `http://127.0.0.1:${ports.pushgatewayPort}`,
    },
  };
}
