import { controlView, type ControlView } from "#sidecar/upkeep/control/control-answers.ts";
import { requestControl } from "#sidecar/upkeep/control/request-control.ts";
import { startDevnetWorkspace, type DevnetWorkspace } from "./devnet-workspace.ts";
import { waitUntilSettled } from "./owned-node.ts";
import { startService } from "../service-process.ts";
import { quickSidecar, readHeight } from "./settled-devnet.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** A devnet node of 0.15.0 with its own sidecar, a process that takes commands by its URL. */
export type UpgradableNode = AsyncDisposable &
  Readonly<{
    node: DevnetWorkspace;
    url: string;
    view: () => Promise<ControlView>;
  }>;

/** The token of all their controls. */
export const controlToken = "a-token-of-thirty-two-characters-or-more";

/** Starts one, and waits until its sidecar has nothing to do any more. */
export async function startUpgradableNode(environment: Readonly<Record<string, string>> = {}): Promise<UpgradableNode> {
  const resources = new AsyncDisposableStack();
  try {
    const node = resources.use(await startDevnetWorkspace("0.15.0"));
    const sidecar = resources.use(
      await startService("sidecar", {
        ...quickSidecar,
        GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
        GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
        GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
        GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
        GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: controlToken,
        GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
        GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
        GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "100",
        GATEHOUSE_SIDECAR_RESTART_SETTLE_MS: "50",
        ...environment,
      }),
    );
    const url = sidecar.urls["sidecar"] ?? "";
    const view = () => requestControl({ kind: "url", url, token: controlToken }, { path: "", answer: controlView });
    await waitUntilSettled(url);
    await until(`${url} says that its node is well`, generousMs, async () => {
      return (await readHeight(node)) > 3 && (await view()).problems?.length === 0;
    });
    return { node, url, view, [Symbol.asyncDispose]: () => resources.disposeAsync() };
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}
