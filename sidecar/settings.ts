import type { z } from "zod";
import { defineSettings } from "#daemon/settings/settings.ts";
import { gatewaySection } from "#gateway/settings/sections.ts";
import { healthSection, lagSection } from "#health/settings.ts";
import { listenSection } from "#status/listen-settings.ts";
import { nodeSection, pushgatewaySection } from "./settings/node.ts";
import { upgradeSection } from "./settings/upgrade.ts";
import { volumeSection } from "./settings/volume.ts";
import { composeSection, dockerSection, kubernetesSection, opsSection } from "./settings/drivers.ts";
import { monitorSection, nodeCliSection, pruneSection, restartSection, upkeepSection } from "./settings/upkeep.ts";

const commonSettings = ["node.workspace", "node.httpUrl", "node.chainId", "restart.driver", "gateway.public.port"];

/** All settings for one node's sidecar: the node, its desired state, and how to reach it. Each section is in `settings/`. */
export const sidecarSettings = defineSettings("sidecar", commonSettings, {
  listen: listenSection,
  node: nodeSection,
  pushgateway: pushgatewaySection,
  upkeep: upkeepSection,
  monitor: monitorSection,
  prune: pruneSection,
  nodeCli: nodeCliSection,
  restart: restartSection,
  ops: opsSection,
  compose: composeSection,
  docker: dockerSection,
  kubernetes: kubernetesSection,
  volume: volumeSection,
  upgrade: upgradeSection,
  health: healthSection,
  lag: lagSection,
  gateway: gatewaySection,
});

export type SidecarSettings = z.output<typeof sidecarSettings.schema>;
