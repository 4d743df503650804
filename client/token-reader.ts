import {
  BaseError,
  ContractFunctionExecutionError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  erc20Abi,
  http,
  isAddress,
  parseAbi,
  type Address,
  type Hex,
} from "viem";
import { describeChainFailure } from "#x402/chain-failure.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { locatePermit2Nonce } from "#x402/transfer-payload.ts";
import { decimalsMax } from "#x402/price.ts";
import type { ReadContract, SignedAuthorization } from "#x402/scheme.ts";

export type TokenLocation = Readonly<{
  /** Chain in CAIP-2 form, e.g. `eip155:1672`. */
  network: string;
  /** The token's contract, 0x and 40 hexadecimal digits. */
  address: string;
}>;

/** Failure to read a token from its chain. The message shows only the endpoint's host, because its path may contain a key. */
export class TokenReadError extends Error {
  override readonly name = "TokenReadError";
  readonly code = "token_unreadable";
}

/** State of a signed authorization at the chain's latest block; once `expired`, it was never used and never can be. */
export type NonceState = "used" | "unused" | "expired";

/** Reads tokens from a chain. Any method may throw {@link TokenReadError} if the chain returns no usable response. */
export type TokenReader = Readonly<{
  decimals(token: TokenLocation): Promise<number>;
  symbol(token: TokenLocation): Promise<string>;
  /** Balance of an account, in the token's smallest unit. */
  balanceOf(token: TokenLocation, account: string): Promise<bigint>;
  /** Reads whether an authorization was used, from the token (EIP-3009, `authorizationState`) or Permit2. */
  nonceState(
    token: TokenLocation,
    authorization: Pick<SignedAuthorization, "from" | "nonce" | "method" | "validBefore">,
  ): Promise<NonceState>;
  /** Calls a view function of a contract on the chain. */
  readContract: ReadContract;
}>;

const eip3009 = parseAbi(["function authorizationState(address, bytes32) view returns (bool)"]);
const permit2 = parseAbi(["function nonceBitmap(address, uint256) view returns (uint256)"]);

const timeoutMs = 5_000;

/**
 * Creates a reader that reads tokens from a chain's JSON-RPC endpoint.
 *
 * @example
 * import { tokenReader } from "gatehouse-evm/client";
 *
 * const tokens = tokenReader({ rpcUrl: "http://127.0.0.1:8545" });
 * console.log(await tokens.decimals({ network: "eip155:1672", address: token })); // 6
 */
export function tokenReader({ rpcUrl }: Readonly<{ rpcUrl: string }>): TokenReader {
  const client = createPublicClient({ transport: http(rpcUrl, { timeout: timeoutMs, retryCount: 1 }) });
  const { host } = new URL(rpcUrl);

  async function query<T>(
    { network, address }: TokenLocation,
    what: string,
    call: (at: Address) => Promise<T>,
  ): Promise<T> {
    const fail = (why: string, cause?: unknown) =>
      new TokenReadError(`the ${what} of token ${address} on ${network} can't be read at ${host}: ${why}`, { cause });
    if (!isAddress(address, { strict: false })) throw fail("this is not an address");
    try {
      const [id, value] = await Promise.all([client.getChainId(), call(address)]);
      if (`eip155:${id}` !== network) throw fail(`that is chain eip155:${id}`);
      return value;
    } catch (error) {
      if (error instanceof TokenReadError) throw error;
      if (!(error instanceof BaseError)) throw error;
      throw fail(describeChainFailure(error), error);
    }
  }

  return {
    async decimals(token) {
      const decimals = await query(token, "decimals", (address) =>
        client.readContract({ address, abi: erc20Abi, functionName: "decimals" }),
      );
      if (decimals <= decimalsMax) return decimals;
      throw new TokenReadError(
        `token ${token.address} has ${decimals} decimals, but at most ${decimalsMax} are supported.`,
      );
    },
    symbol: (token) =>
      query(token, "symbol", (address) => client.readContract({ address, abi: erc20Abi, functionName: "symbol" })),
    balanceOf: (token, account) =>
      query(token, "balance", (address) =>
        client.readContract({ address, abi: erc20Abi, functionName: "balanceOf", args: [account as Address] }),
      ),
    nonceState: (token, { from, nonce, method, validBefore }) =>
      query(token, "authorization state", async (address) => {
        // Reads the time and the nonce's state at the same block, so that a lagging node can't report an expired nonce as unused.
        const { number: blockNumber, timestamp } = await client.getBlock();
        const isUsed = async () => {
          if (method !== "permit2") {
            const args = [from as Address, nonce as Hex] as const;
            const functionName = "authorizationState";
            return client.readContract({ address, abi: eip3009, functionName, args, blockNumber });
          }
          const { word, mask } = locatePermit2Nonce(nonce);
          const args = [from as Address, word] as const;
          const call = {
            address: canonicalContracts.permit2.address,
            abi: permit2,
            functionName: "nonceBitmap",
          } as const;
          return ((await client.readContract({ ...call, args, blockNumber })) & mask) !== 0n;
        };
        if (await isUsed()) return "used";
        return timestamp > BigInt(validBefore) ? "expired" : "unused";
      }),
    async readContract(call) {
      try {
        return await client.readContract(call as Parameters<typeof client.readContract>[0]);
      } catch (error) {
        if (!(error instanceof BaseError)) throw error;
        const message = `${call.functionName} of contract ${call.address} can't be read at ${host}: ${describeChainFailure(error)}`;
        throw new TokenReadError(message, { cause: error });
      }
    },
  };
}

/** Returns whether the contract rejected the call or has no such function; otherwise the chain may not have responded. */
export function isRevert({ cause }: TokenReadError): boolean {
  return cause instanceof ContractFunctionExecutionError && cause.walk(isRevertCause) !== null;
}

function isRevertCause(error: unknown): boolean {
  return error instanceof ContractFunctionRevertedError || error instanceof ContractFunctionZeroDataError;
}
