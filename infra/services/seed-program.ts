import type { SeedSpec } from "./service-spec.ts";

/** The program in the image that puts the node's first configuration where it is missing. */
const seedProgram = "/app/infra/images/seed-node-conf.ts";

/** The variable in which it finds the address that the node tells to its peers. */
export const hostIpVariable = "HOST_IP";

/** Where that program finds the directory that the node is going to run in. */
export const stagedBin = "/run/gatehouse/bin";

/**
 * The arguments of Node that run it.
 *
 * @param from the node's first configuration.
 * @param programs where a target shows it the image's programs, if it is to copy them.
 */
export function seedCommand(seed: SeedSpec, from: string, programs?: string): string[] {
  const { path, places } = seed;
  if (places === undefined) return [seedProgram, from, path];
  return [
    seedProgram,
    from,
    path,
    ...places.formerConf.flatMap((former) => ["--adopt", former]),
    "--link",
    `${stagedBin}/node.conf`,
    ...(programs === undefined ? [] : ["--programs", programs]),
    "--bin",
    places.bin,
    "--data",
    places.data,
    "--keys",
    places.keys,
  ];
}
