import type * as docker from "@pulumi/docker";
import type { Input } from "@pulumi/pulumi";
import type { ServiceSpec } from "../services/service-spec.ts";
import { engineCpus } from "./engine-values.ts";

/** Where a container runs that does one thing and ends. */
export type OneShotPlacement = Readonly<{
  containerName: string;
  image: Input<string>;
  volumes: readonly docker.types.input.ContainerVolume[];
  labels: Readonly<Record<string, Input<string>>>;
}>;

/**
 * What containers have in common that prepare something for a service, as its user, and end: no network, nothing that they may do
 * beyond their files. Pulumi waits for their end.
 */
export function oneShot(spec: ServiceSpec, placement: OneShotPlacement): docker.ContainerArgs {
  return {
    name: placement.containerName,
    image: placement.image,
    volumes: [...placement.volumes],
    labels: Object.entries(placement.labels).map(([label, value]) => ({ label, value })),
    user: `${spec.user.uid}:${spec.user.gid}`,
    capabilities: { drops: ["ALL"] },
    securityOpts: ["no-new-privileges:true"],
    networkMode: "none",
    memory: 128,
    memorySwap: 128,
    cpus: engineCpus(0.5),
    init: true,
    restart: "no",
    attach: true,
    mustRun: false,
  };
}
