import { hash } from "node:crypto";
import { hostname } from "node:os";
import { readUrlHost, readUrlPort } from "#daemon/http/address.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { Desired } from "#node/conf/monitor-values.ts";

/** Creates the desired state from the settings. `dataPath` makes the default job name unique on a host that runs several nodes. */
export function createDesiredState(settings: SidecarSettings, dataPath: string): Desired {
  const { monitor, prune, pushgateway } = settings;
  const gateway = pushgateway.url === undefined ? undefined : new URL(pushgateway.url);
  return {
    monitor: {
      ...monitor,
      fallback: {
        jobName: buildDefaultJobName(hostname(), dataPath),
        pushAddress: gateway && readUrlHost(gateway),
        pushPort: gateway === undefined ? defaultPorts.pushgateway.http : readUrlPort(gateway),
        pushIntervalSeconds: 10,
      },
    },
    prune: { enabled: prune.enabled },
  };
}

/** Hashes a desired state as configured, without the default job name: the name depends on the file, and a change to it is not a new request. */
export function hashDesiredState({ monitor, ...desired }: Desired): string {
  const { jobName: _, ...fallback } = monitor.fallback;
  return hash("sha256", JSON.stringify({ ...desired, monitor: { ...monitor, fallback } }));
}

/** Builds a job name from the host and a hash of the data path. The name is unique per node and stable across restarts. */
function buildDefaultJobName(host: string, dataPath: string): string {
  const place = hash("sha256", dataPath).slice(0, 8);
  return `node-${host.replace(/[^A-Za-z0-9-]/g, "-").slice(0, 60)}-${place}`;
}
