import type { z } from "zod";
import { removedAuditLog } from "#daemon/audit/audit-log.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { gatewaySection } from "#gateway/settings/gateway.ts";
import { healthSection, lagSection, listenSection, removedCertificate } from "#health/settings.ts";
import { nodeSection, pushgatewaySection } from "./settings/node.ts";
import { upgradeSection } from "./settings/upgrade.ts";
import { volumeSection } from "./settings/volume.ts";
import { composeSection, dockerSection, kubernetesSection, opsSection } from "./settings/drivers.ts";
import { monitorSection, nodeCliSection, pruneSection, restartSection, upkeepSection } from "./settings/upkeep.ts";

/** Settings that most deployments set. */
const essentials = ["node.workspace", "node.httpUrl", "node.chainId", "restart.driver", "gateway.public.port"];

const removed = {
  auditLog: removedAuditLog,
  certificate: removedCertificate,
  "upgrade.autoRestore": "run gatehouse restore --snapshot (docs/runbooks/data-suspect.md)",
  "upgrade.autoRestoreAfterMs": "nothing is restored by itself",
  "upgrade.window": "run gatehouse upgrade from cron (docs/upgrades.md)",
  "upgrade.lateBlocks": "run gatehouse upgrade from cron (docs/upgrades.md)",
};

/** All settings for one node's sidecar: the node, its desired state, and how to reach it. Each section is in `settings/`. */
export const sidecarSettings = defineSettings(
  "sidecar",
  essentials,
  {
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
  },
  removed,
);

/** The sidecar's settings, parsed and frozen. */
export type SidecarSettings = z.output<typeof sidecarSettings.schema>;
