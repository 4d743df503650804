import type { Hex } from "viem";
import { AnvilRequestError } from "../../anvil/anvil-request.ts";
import type { Anvil } from "../../anvil/anvil.ts";
import { errorCode, RpcError, findRequestedBlock } from "../rpc-error.ts";

/** The state of a block is pruned: -32000 with geth's text, which clients use to recognize a full node's pruned state. */
export class PrunedStateError extends RpcError {
  constructor(stateRoot: Hex) {
    const root = stateRoot.slice(2);
    super(errorCode.server, `missing trie node ${root} (path ) state 0x${root} is not available`);
  }
}

type Chain = Pick<Anvil, "request">;

/**
 * Wraps the chain so that a request for a pruned block's state fails with a specific error.
 *
 * @throws {PrunedStateError} when anvil only reports that the block is out of range.
 */
export function withPrunedStates({ request }: Chain): Chain {
  return {
    request: async <T>(method: string, params?: readonly unknown[]): Promise<T> => {
      try {
        return await request<T>(method, params);
      } catch (error) {
        throw (await toPrunedStateError(error, request)) ?? error;
      }
    },
  };
}

async function toPrunedStateError(error: unknown, request: Chain["request"]): Promise<PrunedStateError | undefined> {
  const block = error instanceof AnvilRequestError ? findRequestedBlock(error.message) : undefined;
  if (block === undefined || block.requested > block.head) return undefined;
  const number: Hex = `0x${block.requested.toString(16)}`;
  const { stateRoot } = await request<{ stateRoot: Hex }>("eth_getBlockByNumber", [number, false]);
  return new PrunedStateError(stateRoot);
}
