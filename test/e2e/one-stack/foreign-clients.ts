import { ExactEvmScheme } from "@x402/evm";
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { JsonRpcProvider, WebSocketProvider } from "ethers";
import { createPublicClient, createWalletClient, defineChain, http, parseEther, webSocket } from "viem";
import { describe, expect, it } from "vitest";
import { client, payee } from "../../support/payments/paying.ts";
import type { RunningStack } from "../../support/running-stack.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

export function testForeignClients(running: () => RunningStack): void {
  const gatewayUrl = () => `http://127.0.0.1:${running().ports.gateway}`;
  function defineDevnet() {
    return defineChain({
      id: 1672,
      name: "devnet",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [gatewayUrl()], webSocket: [gatewayUrl().replace("http", "ws")] } },
    });
  }

  describe("viem", () => {
    it("reads the chain and sends a transaction through the gateway", async () => {
      const reader = createPublicClient({ chain: defineDevnet(), transport: http() });
      const wallet = createWalletClient({ chain: defineDevnet(), transport: http(), account: client });
      expect(await reader.getChainId()).toBe(1672);
      const hash = await wallet.sendTransaction({ to: payee.address, value: parseEther("0.5") });
      const receipt = await reader.waitForTransactionReceipt({ hash, timeout: 20_000, pollingInterval: 100 });
      expect(receipt.status).toBe("success");
      expect((await reader.getTransaction({ hash })).from).toBe(client.address.toLowerCase());
    });

    it("follows new heads over WebSocket", async () => {
      const reader = createPublicClient({ chain: defineDevnet(), transport: webSocket() });
      const numbers: bigint[] = [];
      const unwatch = reader.watchBlockNumber({ onBlockNumber: (number) => numbers.push(number) });
      await until("two new heads", generousMs, () => numbers.length >= 2);
      unwatch();
      expect(numbers[1]).toBeGreaterThan(numbers[0]!);
      await reader.transport.getRpcClient().then((rpc) => rpc.close());
    });

    it("reports the gateway's max block range", async () => {
      const reader = createPublicClient({ chain: defineDevnet(), transport: http() });
      const request = reader.getLogs({ fromBlock: 0n, toBlock: 250n });
      await expect(request).rejects.toThrow(
        "block range too large: 251 blocks requested, limited to 100 blocks. Try with this block range [0x0, 0x63].",
      );
    });
  });

  describe("ethers", () => {
    it("reads the chain over HTTP", async () => {
      const provider = new JsonRpcProvider(gatewayUrl());
      expect(Number((await provider.getNetwork()).chainId)).toBe(1672);
      expect(await provider.getBlockNumber()).toBeGreaterThan(0);
      expect((await provider.getBlock("latest"))?.hash).toMatch(/^0x[0-9a-f]{64}$/);
      provider.destroy();
    });

    it("follows blocks over WebSocket", async () => {
      const provider = new WebSocketProvider(gatewayUrl().replace("http", "ws"));
      const numbers: number[] = [];
      await provider.on("block", (number: number) => numbers.push(number));
      await until("a new block", generousMs, () => numbers.length >= 1);
      await provider.destroy();
      expect(numbers[0]).toBeGreaterThan(0);
    });
  });

  describe("@x402/fetch", () => {
    it("pays for the sample route", async () => {
      const x402 = new x402Client().register("eip155:1672", new ExactEvmScheme(client));
      // The SDK pays only in tokens that it knows, and this chain's token is not one of them.
      x402.setSpendControls(false);
      const payingFetch = wrapFetchWithPayment(fetch, x402);
      const response = await payingFetch(`http://127.0.0.1:${running().ports.resourceServer}/data`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ data: "what the client paid for" });
      const settledHeader = decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? "");
      expect(settledHeader).toMatchObject({ success: true, network: "eip155:1672", payer: client.address });
      expect(settledHeader.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    });
  });
}
