import {
  BATCH_SETTLEMENT_ADDRESS,
  ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  PERMIT2_ADDRESS,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyAddress,
} from "@x402/evm";
import { getAddress } from "viem";
import { mainnet } from "viem/chains";
import { expect, test } from "vitest";
import { canonicalContracts, findDeployedContracts, listContracts } from "./contracts.ts";

test("uses the addresses of the reference clients and viem", () => {
  const { permit2, exactProxy, uptoProxy, batchSettlement, erc3009Collector, multicall3 } = canonicalContracts;
  expect([permit2, exactProxy, uptoProxy, batchSettlement, erc3009Collector].map(({ address }) => address)).toEqual([
    PERMIT2_ADDRESS,
    x402ExactPermit2ProxyAddress,
    x402UptoPermit2ProxyAddress,
    BATCH_SETTLEMENT_ADDRESS,
    ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  ]);
  expect(multicall3.address).toBe(getAddress(mainnet.contracts.multicall3.address));
  for (const { address } of Object.values(canonicalContracts)) expect(getAddress(address)).toBe(address);
});

test("lists the contracts that have code, and fails on a chain error", async () => {
  const { permit2, exactProxy } = canonicalContracts;
  const codes = new Map<string, `0x${string}` | undefined>([
    [permit2.address, "0x60"],
    [exactProxy.address, "0x"],
  ]);
  const deployed = await findDeployedContracts(async (address) => codes.get(address));
  expect([...deployed]).toEqual(["permit2"]);
  expect(listContracts("exact-permit2").filter((id) => !deployed.has(id))).toEqual(["exactProxy"]);
  await expect(findDeployedContracts(() => Promise.reject(new Error("no response")))).rejects.toThrow("no response");
});
