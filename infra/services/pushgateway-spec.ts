import type { BuiltService } from "./built-service.ts";
import { oneReplica, serviceUser, type ResourceLimits, type ServiceSpec } from "./service-spec.ts";

/** Port of the Pushgateway (specification, sample of `monitor_config`). */
export const pushgatewayPort = 9_091;

/** The Pushgateway that a stack runs unless it names another: the official image, for all of its platforms. */
export const officialImage =
  "prom/pushgateway:v1.11.3@sha256:74fa117cef2d7e383112d25139ff1c2d2e309c35389a9e0554a47136a1482e48";

/** What a Pushgateway is deployed with. */
export type PushgatewayArgs = Readonly<{ limits?: ResourceLimits | undefined }>;

/** The user of the official image, who owns the directory that it keeps its file in: nobody. */
const nobody = 65_534;

/** The official image's own working directory, which a new volume takes over with its owner. */
const directory = "/pushgateway";

/** What was pushed in the seconds before a kill is lost; a node pushes again after its interval. */
const persistenceInterval = "30s";

/**
 * Builds Prometheus's Pushgateway from its official image: written to by the node, read by the sidecar and by the operator's Prometheus,
 * never public. What was pushed outlives it in a file on a volume. The image has no shell script of its own, but busybox's `wget`.
 */
export function pushgatewaySpec(args: PushgatewayArgs): BuiltService {
  const spec: ServiceSpec = {
    name: "pushgateway",
    image: "pushgateway",
    arguments: [
      `--web.listen-address=:${pushgatewayPort}`,
      `--persistence.file=${directory}/pushgateway.data`,
      `--persistence.interval=${persistenceInterval}`,
    ],
    environment: {},
    files: [],
    ports: [{ name: "http", number: pushgatewayPort, audience: "system" }],
    volumes: [{ name: "pushgateway-data", path: directory, readOnly: false, keep: false, sizeGibibytes: 1 }],
    edges: [],
    metrics: { port: "http", honorLabels: true },
    health: {
      kind: "http",
      port: "http",
      readyPath: "/-/ready",
      livePath: "/-/healthy",
      startupPath: "/-/ready",
      startWithinSeconds: 60,
      // Without `-T`: busybox 1.35 ends by SIGSEGV there. The engine's own limit bounds it.
      command: ["wget", "-q", "-O", "/dev/null", `http://127.0.0.1:${pushgatewayPort}/-/ready`],
    },
    limits: args.limits ?? { cpus: 0.5, memoryMebibytes: 256 },
    user: { uid: nobody, gid: serviceUser.gid },
    stopGraceSeconds: 10,
    replicas: oneReplica,
  };
  return { spec, problems: [] };
}
