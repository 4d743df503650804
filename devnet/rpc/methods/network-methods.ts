import type { MethodGroup, Node } from "../method.ts";
import { bytes, readParams } from "../params.ts";

/** Creates the `net` and `web3` methods. */
export function createNetworkMethods({ anvil, version, clientVersion }: Node): MethodGroup {
  return {
    net_version: async (params) => {
      readParams([], params);
      return anvil.request("net_version");
    },
    net_listening: async (params) => {
      readParams([], params);
      return true;
    },
    net_peerCount: async (params) => {
      readParams([], params);
      // A devnet has one node and no peers.
      return "0x0";
    },
    web3_clientVersion: async (params) => {
      readParams([], params);
      return (
        clientVersion ?? `gatehouse-devnet/v${version}/${process.platform}-${process.arch}/node${process.versions.node}`
      );
    },
    web3_sha3: async (params) => anvil.request("web3_sha3", readParams([bytes], params)),
  };
}
