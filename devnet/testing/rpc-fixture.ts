import { pino } from "pino";
import type { Hex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { startAnvil, type Anvil } from "../anvil/anvil.ts";
import { startRpcServer, type RpcServer } from "../rpc/rpc-server.ts";
import type { NodeProfile } from "../node-profile.ts";

const testMnemonic = "test test test test test test test test test test test junk";
export const testChainId = 1672;

export const sender = mnemonicToAccount(testMnemonic, { addressIndex: 1 });

export const otherSender = mnemonicToAccount(testMnemonic, { addressIndex: 2 });

/** Block interval longer than any test, so that only the test mines blocks. */
const neverSeconds = 3_600;

/** 10,000 ether. */
const fundedWei = "0x21e19e0c9bab2400000";

export type TestNode = AsyncDisposable &
  Readonly<{
    anvil: Anvil;
    rpc: RpcServer;
    ask<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>;
    rejection(method: string, ...params: readonly unknown[]): Promise<RpcResponse["error"]>;
  }>;

export async function startTestNode(
  options: Readonly<{ stateDirectory?: string; blockTimeSeconds?: number; profile?: NodeProfile }> = {},
): Promise<TestNode> {
  const log = pino({ level: "silent" });
  const { stateDirectory, blockTimeSeconds = neverSeconds, profile = "standard" } = options;
  await using starting = new AsyncDisposableStack();
  const anvil = starting.use(
    await startAnvil(
      { chainId: testChainId, blockTimeSeconds, stateDirectory },
      { log, signal: new AbortController().signal },
    ),
  );
  for (const { address } of [sender, otherSender]) await anvil.request("anvil_setBalance", [address, fundedWei]);
  await anvil.checkpoint();
  const rpc = starting.use(
    await startRpcServer(
      {
        host: "127.0.0.1",
        http: { port: 0, setting: "HTTP_PORT" },
        webSocket: { port: 0, setting: "WEBSOCKET_PORT" },
        version: "0.16.2",
        profile,
      },
      { anvil, log },
    ),
  );
  const resources = starting.move();
  const ask = async <T>(method: string, ...params: readonly unknown[]) => {
    const { result, error } = await callRpc(rpc.httpUrl, method, params);
    if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message}`);
    return result as T;
  };
  const rejection = async (method: string, ...params: readonly unknown[]) =>
    (await callRpc(rpc.httpUrl, method, params)).error;
  return { anvil, rpc, ask, rejection, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Code that writes its first input word to slot 0 and logs it under topic 0xaa. */
export const writerCode: Hex = "0x60003560005560003560005260aa60206000a100";

/** Code that calls the address in its first input word with its second input word. */
export const callerCode: Hex = "0x602035600052600060006020600060006000355af100";

/** Encodes a creation transaction's data for `code` (at most 255 bytes). */
export function encodeCreation(code: Hex): Hex {
  const length = ((code.length - 2) / 2).toString(16).padStart(2, "0");
  return `0x60${length}600c60003960${length}6000f3${code.slice(2)}`;
}

export type Wallet = Readonly<{ send(transaction: WalletTransaction): Promise<Hex> }>;
type WalletTransaction = Readonly<{
  to?: Hex;
  data?: Hex;
  value?: bigint;
  type?: "legacy" | "eip2930" | "eip1559";
  accessList?: readonly Readonly<{ address: Hex; storageKeys: readonly Hex[] }>[];
  gas?: bigint;
}>;

export async function createWallet({ anvil }: TestNode): Promise<Wallet> {
  let nonce = Number(await anvil.request<Hex>("eth_getTransactionCount", [sender.address, "latest"]));
  return {
    send: async ({ type = "eip1559", ...transaction }) => {
      const fees =
        type === "eip1559"
          ? { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
          : { gasPrice: 20_000_000_000n };
      const common = { chainId: testChainId, nonce: nonce++, gas: 300_000n, ...transaction };
      const raw = await sender.signTransaction({ ...common, ...fees, type } as Parameters<
        typeof sender.signTransaction
      >[0]);
      return anvil.request<Hex>("eth_sendRawTransaction", [raw]);
    },
  };
}

async function callRpc(url: string, method: string, params: readonly unknown[] = []): Promise<RpcResponse> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return (await response.json()) as RpcResponse;
}
type RpcResponse = Readonly<{
  id: unknown;
  result?: unknown;
  error?: Readonly<{ code: number; message: string; data?: unknown }>;
}>;
