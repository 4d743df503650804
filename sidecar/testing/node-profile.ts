/**
 * Behaviour of the tests' nodes. `standard` is as convenient as a node can be; `strict` gives as little as the specification lets
 * it: nothing but `debug_protocolVersion` reports its version, its tools end with status 0 whatever happens and print little, and
 * its port opens long after its start command has ended. `pharos` has the places and manners of the public family (`fake-pharos-programs.ts`).
 */
export type NodeProfile = (typeof profiles)[number];

const profiles = ["standard", "strict", "pharos"] as const;

/** The profile that this run of the tests has, by the variable that names a devnet's: the same tests run once with each. */
export const testProfile: NodeProfile =
  profiles.find((profile) => profile === process.env["GATEHOUSE_DEVNET_PROFILE"]) ?? "standard";
