import { z } from "zod";
import { formatQuantity, type Hex } from "#x402/hex.ts";
import type { BatchingClient, CallLocation } from "./batching-client.ts";
import type { JsonRpcResponse } from "#daemon/json-rpc.ts";
import { ChainError } from "./chain-error.ts";

const hexData = z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value));

/** JSON-RPC quantity (Ethereum JSON-RPC, "Hex value encoding"). */
const hexQuantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);

const hexCount = hexQuantity.transform(Number).pipe(z.int());

const headSchema = z.object({
  number: hexCount,
  timestamp: hexCount,
  baseFeePerGas: hexQuantity.optional(),
  gasLimit: hexQuantity.optional(),
});

const logSchema = z.object({ address: hexData, topics: z.array(hexData), data: hexData });

const transactionSchema = z.object({ to: hexData.nullable(), input: hexData }).nullable();

const receiptSchema = z
  .object({
    status: hexCount,
    blockNumber: hexCount,
    transactionHash: hexData,
    gasUsed: hexQuantity,
    effectiveGasPrice: hexQuantity.optional(),
    logs: z.array(logSchema),
  })
  .nullable();

/** Newest block. Its time is in seconds since 1970, its base fee in wei, its limit in units of gas. */
export type Head = Readonly<z.output<typeof headSchema>>;

export type ContractLog = Readonly<z.output<typeof logSchema>>;

/** Receipt of a transaction; `status` is 1 for success and 0 for a revert, the gas price is in wei. */
export type Receipt = Readonly<NonNullable<z.output<typeof receiptSchema>>>;

/** Returns whether the block of a transaction has enough confirmations, itself included. */
export function isConfirmed(
  { blockNumber }: Pick<Receipt, "blockNumber">,
  head: Pick<Head, "number">,
  { confirmations }: Readonly<{ confirmations: number }>,
): boolean {
  return head.number - blockNumber + 1 >= confirmations;
}

export type MessageCall = Readonly<{ from?: Hex; to: Hex; data: Hex; gas?: number; gasPrice?: bigint }>;

/**
 * Result of sending a signed transaction to a node.
 * - `accepted`: the node has it, from this or an earlier call.
 * - `nonce_taken`: another transaction of the account has the nonce, in a block or in the pool at the same or a higher fee.
 * - `rejected`: the node rejected it and did not broadcast it; `isUnfunded` if the reason is that the account can't pay for it.
 * - `unknown`: the node did not report the result; the transaction may have been broadcast.
 */
export type SendOutcome = Readonly<
  | { kind: "accepted" }
  | { kind: "nonce_taken"; message: string }
  | { kind: "rejected"; message: string; isUnfunded?: boolean }
  | { kind: "unknown"; message: string }
>;

/** Chain node. Concurrent calls share one request. Each method throws `ChainError` without a usable response. */
export type Chain = ReturnType<typeof createChain>;

type EventLocation = Readonly<{ transactionHash: Hex }>;

/** Max blocks of one query for events, by the specification. */
export const logBlocksMax = 100;

/** Creates a chain from a JSON-RPC client, for calls with the given `location`; without one, on behalf of the process itself. */
export function createChain({
  rpc,
  location,
}: Readonly<{ rpc: Pick<BatchingClient, "call">; location?: CallLocation }>) {
  const call = (method: string, params: readonly unknown[]) => rpc.call(method, params, location);
  const query = async <Output>(method: string, params: readonly unknown[], schema: z.ZodType<Output>) =>
    requireResult(method, await call(method, params), schema);
  return {
    id: (): Promise<number> => query("eth_chainId", [], hexCount),
    head: (number?: number): Promise<Head> => query("eth_getBlockByNumber", [formatBlock(number), false], headSchema),
    syncing: async (): Promise<boolean> => {
      const response = await call("eth_syncing", []);
      return response.ok && response.result !== false;
    },
    /** In wei. */
    balance: (account: Hex): Promise<bigint> => query("eth_getBalance", [account, "latest"], hexQuantity),
    /** Counts the account's mined transactions, up to a block if given; with `pending`, also those in the node's pool. */
    transactionCount: (account: Hex, block: "latest" | "pending" | number): Promise<number> =>
      query("eth_getTransactionCount", [account, typeof block === "number" ? formatQuantity(block) : block], hexCount),
    /** In wei. */
    priorityFee: (): Promise<bigint> => query("eth_maxPriorityFeePerGas", [], hexQuantity),
    receipt: async (hash: Hex): Promise<Receipt | undefined> =>
      (await query("eth_getTransactionReceipt", [hash], receiptSchema)) ?? undefined,
    transactionCall: async (hash: Hex): Promise<Readonly<{ to: Hex | null; input: Hex }> | undefined> =>
      (await query("eth_getTransactionByHash", [hash], transactionSchema)) ?? undefined,
    /** Returns a contract's code, `0x` for an account without any. */
    code: (account: Hex): Promise<Hex> => query("eth_getCode", [account, "latest"], hexData),
    send: async (raw: Hex): Promise<SendOutcome> => readSendOutcome(await call("eth_sendRawTransaction", [raw])),
    /** Simulates a call in the next block. Uses `pending`, because for `latest` some nodes use the time of an old block. */
    simulate: (message: MessageCall): Promise<JsonRpcResponse> =>
      call("eth_call", [buildCallObject(message), "pending"]),
    estimateGas: (message: MessageCall): Promise<JsonRpcResponse> =>
      call("eth_estimateGas", [buildCallObject(message), "pending"]),
    /** Returns the result of a view method, at a block if given; a node behind that block rejects the call. */
    read: (message: MessageCall, block?: number | "pending"): Promise<Hex> =>
      query("eth_call", [buildCallObject(message), block === "pending" ? block : formatBlock(block)], hexData),
    /** Returns events of at most {@link logBlocksMax} blocks; an array of topics matches any of them, null all. */
    recentLogs: (
      address: Hex,
      topics: readonly (Hex | readonly Hex[] | null)[],
      headNumber: number,
      from: number = 0,
    ): Promise<readonly (ContractLog & EventLocation)[]> => {
      const fromBlock = formatQuantity(Math.max(from, headNumber - logBlocksMax + 1));
      const filter = { address, topics, fromBlock, toBlock: formatQuantity(headNumber) };
      return query("eth_getLogs", [filter], z.array(logSchema.extend({ transactionHash: hexData })));
    },
  };
}

function formatBlock(number: number | undefined): string {
  return number === undefined ? "latest" : formatQuantity(number);
}

function buildCallObject({ from, to, data, gas, gasPrice }: MessageCall): Record<string, unknown> {
  return {
    to,
    data,
    ...(from === undefined ? {} : { from }),
    ...(gas === undefined ? {} : { gas: formatQuantity(gas) }),
    // Zero on a chain without fees.
    ...(gasPrice === undefined ? {} : { gasPrice: formatQuantity(gasPrice) }),
  };
}

/**
 * Returns the result of a call that the node should never reject.
 *
 * @throws {ChainError} when it rejected the call, or when the result does not match the method's schema.
 */
function requireResult<Output>(method: string, response: JsonRpcResponse, schema: z.ZodType<Output>): Output {
  if (!response.ok) {
    throw new ChainError(
      "rejected",
      `the node returned an error for ${method}: ${response.error.message} (code ${response.error.code})`,
    );
  }
  const parsed = schema.safeParse(response.result);
  if (parsed.success) return parsed.data;
  throw new ChainError("bad_answer", `the node's response to ${method} is malformed`);
}

// JSON-RPC has no codes for these errors. The messages are geth's; those of anvil, erigon, reth and nethermind are the same or similar.
const alreadyKnown = /already known|already imported|known transaction|already in mempool|alreadyknown/i;
const nonceTaken =
  /nonce too low|nonce is too low|nonce has already been used|replacement transaction underpriced|oldnonce/i;
const insufficientFunds = /insufficient funds/i;
const rejectedTransaction =
  /intrinsic gas|exceeds block gas limit|gas limit reached|invalid sender|invalid chain ?id|incompatible eip155|rlp|failed to decode|tx type not supported|exceeds the configured cap/i;

export function readSendOutcome(response: JsonRpcResponse): SendOutcome {
  if (response.ok) return { kind: "accepted" };
  const { message } = response.error;
  if (alreadyKnown.test(message)) return { kind: "accepted" };
  if (nonceTaken.test(message)) return { kind: "nonce_taken", message };
  if (insufficientFunds.test(message)) return { kind: "rejected", message, isUnfunded: true };
  if (rejectedTransaction.test(message)) return { kind: "rejected", message };
  return { kind: "unknown", message };
}
