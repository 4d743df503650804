import { stackServices } from "#daemon/stack-services.ts";
import { oneReplica, serviceUser, type ServiceSpec } from "../service-spec.ts";

/** User of the official images of Prometheus's project, who owns the data directory of each: nobody. */
const nobody = 65_534;

type Shared = Pick<ServiceSpec, "name" | "image" | "environment" | "ports" | "health" | "user" | "replicas">;

/** Builds what the servers of Prometheus's project share in their official images: a user, the paths of their health, and of programs busybox's `wget`. */
export function buildPrometheusProject(name: "prometheus" | "alertmanager" | "pushgateway"): Shared {
  const { image, ports } = stackServices[name];
  return {
    name,
    image,
    environment: {},
    ports: [{ name: "http", number: ports.http, audience: "system" }],
    health: {
      kind: "http",
      port: "http",
      readyPath: "/-/ready",
      livePath: "/-/healthy",
      startupPath: "/-/ready",
      startWithinSeconds: 60,
      // Without `-T`: busybox 1.35 ends by SIGSEGV there. The engine's own limit bounds it.
      command: ["wget", "-q", "-O", "/dev/null", `http://127.0.0.1:${ports.http}/-/ready`],
    },
    user: { uid: nobody, gid: serviceUser.gid },
    replicas: oneReplica,
  };
}
