/**
 * Behavior of the nodes in tests. `standard` is as convenient as a node can be. `strict` provides as little as the specification allows:
 * only `debug_protocolVersion` reports its version, its tools always exit with 0 and print little, and its port opens long after its start
 * command has exited. `pharos` has the paths and behavior of the public family (`fake-pharos-programs.ts`).
 */
export type NodeProfile = (typeof profiles)[number];

const profiles = ["standard", "strict", "pharos"] as const;

/** This test run's profile, from the devnet's profile variable: the same tests run once per profile. */
export const testProfile: NodeProfile =
  profiles.find((profile) => profile === process.env["GATEHOUSE_DEVNET_PROFILE"]) ?? "standard";
