import { stackServices } from "../../stack-services.ts";
import { oneReplica, serviceUser, type ServiceSpec } from "../service-spec.ts";

/** User in the Prometheus project's official images, which owns the data directory in each image: nobody. */
const nobody = 65_534;

type Shared = Pick<ServiceSpec, "name" | "image" | "environment" | "ports" | "health" | "user" | "replicas">;

/** Builds the parts shared by the Prometheus project's official images: the user, the health paths, and busybox's `wget` as the only program. */
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
      // Omits `-T`, with which busybox 1.35 crashes with SIGSEGV. The engine's own timeout applies.
      command: ["wget", "-q", "-O", "/dev/null", `http://127.0.0.1:${ports.http}/-/ready`],
    },
    user: { uid: nobody, gid: serviceUser.gid },
    replicas: oneReplica,
  };
}
