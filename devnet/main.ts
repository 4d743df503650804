import { endProcess } from "#daemon/process/end-process.ts";
import type { Service } from "#daemon/service.ts";
import { startStep } from "#daemon/process/start-step.ts";
import { startNode } from "./node/node.ts";
import { prepareNode } from "./prepared-node.ts";
import { devnetSettings } from "./settings.ts";

/** Runs the devnet node in the foreground, for use in containers: creates or updates the workspace, then starts the node. */
export const devnet: Service<typeof devnetSettings.schema> = {
  definition: devnetSettings,
  async start(settings, { log, resources, signal }) {
    const { workspace, parameters } = await prepareNode(settings);
    const { configPath, runDirectory } = workspace;
    const running = resources.use(
      await startStep("its own chain", () => startNode({ configPath, runDirectory, parameters }, { log, signal })),
    );
    void running.ended.then((error) => {
      log.fatal({ event: "chain-lost", err: error }, "the chain exited; stopping");
      return endProcess(1);
    });
    return { urls: { http: running.httpUrl, webSocket: running.webSocketUrl } };
  },
};
