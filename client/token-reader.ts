import { createPublicClient, erc20Abi, http, isAddress, parseAbi, type Address, type Hex } from "viem";
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

/** Reads tokens from a chain. Any method may throw {@link TokenReadError} if the chain returns no usable response. */
export type TokenReader = Readonly<{
  decimals(token: TokenLocation): Promise<number>;
  symbol(token: TokenLocation): Promise<string>;
  /** Balance of an account, in the token's smallest unit. */
  balanceOf(token: TokenLocation, account: string): Promise<bigint>;
  /** Returns whether the authorization with that nonce was used: as the token records (EIP-3009, `authorizationState`), or Permit2. */
  hasTaken(
    token: TokenLocation,
    authorization: Pick<SignedAuthorization, "from" | "nonce" | "method">,
  ): Promise<boolean>;
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
      throw fail(describeFailure(error), error);
    }
  }

  return {
    async decimals(token) {
      const decimals = await query(token, "decimals", (address) =>
        client.readContract({ address, abi: erc20Abi, functionName: "decimals" }),
      );
      if (decimals <= decimalsMax) return decimals;
      throw new TokenReadError(`token ${token.address} has ${decimals} decimals, more than ${decimalsMax}.`);
    },
    symbol: (token) =>
      query(token, "symbol", (address) => client.readContract({ address, abi: erc20Abi, functionName: "symbol" })),
    balanceOf: (token, account) =>
      query(token, "balance", (address) =>
        client.readContract({ address, abi: erc20Abi, functionName: "balanceOf", args: [account as Address] }),
      ),
    hasTaken: (token, { from, nonce, method }) =>
      query(token, "authorization state", async (address) => {
        if (method !== "permit2") {
          const args = [from as Address, nonce as Hex] as const;
          return client.readContract({ address, abi: eip3009, functionName: "authorizationState", args });
        }
        const { word, mask } = locatePermit2Nonce(nonce);
        const args = [from as Address, word] as const;
        const contract = canonicalContracts.permit2.address;
        const used = await client.readContract({ address: contract, abi: permit2, functionName: "nonceBitmap", args });
        return (used & mask) !== 0n;
      }),
    readContract: (call) => client.readContract(call as Parameters<typeof client.readContract>[0]),
  };
}

/** Describes a failure by the first line of its message, because the library's other lines contain the full URL. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "shortMessage" in error ? String(error.shortMessage) : (error.message.split("\n")[0] ?? "");
}
