import { toHex } from "viem";
import { callRpc } from "../../support/call-rpc.ts";
import { startBareAnvil } from "../../support/node/bare-anvil.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";

/** Another endpoint of the node's chain, to compare heights with. */
export type ReferenceChain = AsyncDisposable &
  Readonly<{
    url: string;
    /** Advances it to the node's height. */
    follow: (nodeUrl: string) => Promise<void>;
    /** Produces this many blocks. */
    advance: (blocks: number) => Promise<void>;
  }>;

/** Starts an endpoint that advances only on request. */
export async function startReference(chainId: number): Promise<ReferenceChain> {
  const [port = 0] = await findFreePorts(1);
  const anvil = await startBareAnvil(port, chainId);
  const advance = async (blocks: number) => {
    const { error } = await callRpc(anvil.url, "anvil_mine", [toHex(blocks)]);
    if (error !== undefined) throw new Error(`anvil_mine: ${error.message}`);
  };
  return {
    url: anvil.url,
    advance,
    follow: async (nodeUrl) => {
      const ahead = (await readHeight(nodeUrl)) - (await readHeight(anvil.url));
      if (ahead > 0) await advance(ahead);
    },
    [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose](),
  };
}

async function readHeight(url: string): Promise<number> {
  const { result } = await callRpc<string>(url, "eth_blockNumber", []);
  return Number(result);
}
