import { tokenAddress } from "#devnet/token/address.ts";
import { runOnEngine, type EngineStack } from "../support/engine/engine-stack.ts";
import { uniqueName } from "../support/engine/container.ts";
import { freePorts } from "../support/free-ports.ts";
import { deployedResources } from "./deployed-resources.ts";
import type { TestImages } from "./test-images.ts";

/** What the Pulumi program deploys to Docker, on an engine without Pulumi. */
export type TestStack = EngineStack &
  Readonly<{
    /** Begins the names of everything that was made. */
    prefix: string;
    urls: Readonly<{ gateway: string; privateGateway: string; resourceServer: string; status: string }>;
  }>;

/** Runs the whole stack with the devnet node and its accounts, published on free ports; `more` is configuration beyond that. */
export async function startTestStack(
  url: string,
  images: TestImages,
  more: Readonly<Record<string, string>> = {},
): Promise<TestStack> {
  const prefix = uniqueName("stack");
  const [gateway = 0, privateGateway = 0, resourceServer = 0, status = 0] = await freePorts(4);
  const config = {
    dockerEngine: url,
    devAccounts: "true",
    tokenAddress,
    gatehouseImage: images.gatehouse,
    devnetImage: images.devnet,
    gatewayPort: String(gateway),
    privateGatewayPort: String(privateGateway),
    resourceServerPort: String(resourceServer),
    statusPort: String(status),
    ...more,
  };
  const stack = await runOnEngine(await deployedResources(config, prefix), { url, prefix });
  return {
    ...stack,
    prefix,
    urls: {
      gateway: `http://127.0.0.1:${gateway}`,
      privateGateway: `http://127.0.0.1:${privateGateway}`,
      resourceServer: `http://127.0.0.1:${resourceServer}`,
      status: `http://127.0.0.1:${status}`,
    },
  };
}
