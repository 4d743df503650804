import type { z } from "zod";
import { auditLogReplacement } from "#daemon/audit/audit-log.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { gatewaySection, removedGatewaySettings } from "#gateway/settings/sections.ts";
import { healthSection, lagSection, removedCertificate } from "#health/settings.ts";
import { listenSection } from "#status/listen-settings.ts";
import { nodeSection, pushgatewaySection } from "./settings/node.ts";
import { upgradeSection } from "./settings/upgrade.ts";
import { volumeSection } from "./settings/volume.ts";
import { composeSection, dockerSection, kubernetesSection, opsSection } from "./settings/drivers.ts";
import { monitorSection, nodeCliSection, pruneSection, restartSection, upkeepSection } from "./settings/upkeep.ts";

const usual = ["node.workspace", "node.httpUrl", "node.chainId", "restart.driver", "gateway.public.port"];

const removed = {
  auditLog: auditLogReplacement,
  certificate: removedCertificate,
  ...Object.fromEntries(Object.entries(removedGatewaySettings).map(([key, instead]) => [`gateway.${key}`, instead])),
  "compose.exec": "it is derived from compose.command: the words before restart, followed by exec",
  "compose.ps": "it is derived from compose.command: the words before restart, followed by ps",
  "upkeep.json5": "write a JSON5 node.conf as JSON",
  "upgrade.autoRestore": "replace the data with a snapshot by hand (docs/runbooks/data-suspect.md)",
  "upgrade.autoRestoreAfterMs": "nothing is restored automatically",
  "upgrade.window": "run gatehouse upgrade from cron (docs/upgrades.md)",
  "upgrade.snapshot": "files are cloned if the file system supports it, otherwise copied",
  "upgrade.preCopyTimeoutMs": "the data is copied while the node is stopped",
  "upgrade.lateMs": "the data is copied while the node is stopped",
  "upgrade.lateBlocks": "run gatehouse upgrade from cron (docs/upgrades.md)",
};

/** All settings for one node's sidecar: the node, its desired state, and how to reach it. Each section is in `settings/`. */
export const sidecarSettings = defineSettings(
  "sidecar",
  usual,
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

export type SidecarSettings = z.output<typeof sidecarSettings.schema>;
