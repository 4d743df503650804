import type { Environment } from "#daemon/settings/environment.ts";
import type { FakeNode } from "./fake-node.ts";
import { testProfile } from "./node-profile.ts";

/** Settings of every sidecar in a test: it acts, listens on free ports, and gives up on a restart within seconds. */
export function buildEnvironment(
  { workspace, httpUrl }: Pick<FakeNode, "workspace" | "httpUrl">,
  more: Environment = {},
): Environment {
  return {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: httpUrl,
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "5000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "5000",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    // A node of this family reports only the commit of its programs.
    ...(testProfile === "pharos" ? { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" } : {}),
    ...more,
  };
}
