import { createPublicClient, createWalletClient, http, parseAbi, parseSignature, type Abi, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { startAnvil } from "#devnet/anvil/anvil.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { deployContracts } from "#devnet/contracts/genesis.ts";

const signedFields = "address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce";
const abi: Abi = parseAbi([
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function decimals() view returns (uint8)",
  "function balanceOf(address) view returns (uint256)",
  "function authorizationState(address, bytes32) view returns (bool)",
  `function transferWithAuthorization(${signedFields}, bytes signature)`,
  `function transferWithAuthorization(${signedFields}, uint8 v, bytes32 r, bytes32 s)`,
  "error ERC3009UsedAuthorization(address authorizer, bytes32 nonce)",
  "error ERC3009InvalidSignature()",
  "error ERC3009InvalidAuthorizationTime(uint256 validAfter, uint256 validBefore)",
  "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
]);
const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;
const payee = "0x00000000000000000000000000000000000000bb";

async function startToken() {
  const dependencies = { log: createLog({ service: "test", level: "silent" }), signal: new AbortController().signal };
  const options = { chainId: 1672, blockTimeSeconds: 3_600, mnemonic: "", accounts: 0 };
  const anvil = await startAnvil(options, dependencies);
  onTestFinished(async () => anvil[Symbol.asyncDispose]());
  const payer = privateKeyToAccount(generatePrivateKey());
  const relayer = privateKeyToAccount(generatePrivateKey());
  const genesis = async () => ({ chainId: 1672, holders: [payer.address] });
  await deployContracts(anvil, genesis);
  await anvil.request("anvil_setBalance", [relayer.address, "0xde0b6b3a7640000"]);
  const client = createPublicClient({ transport: http(anvil.url) });
  const wallet = createWalletClient({ account: relayer, transport: http(anvil.url) });
  const read = (functionName: string, ...args: unknown[]) =>
    client.readContract({ address: tokenAddress, abi, functionName, args });
  const write = async (functionName: string, args: readonly unknown[]) => {
    const call = { address: tokenAddress, abi, functionName, args, account: relayer } as const;
    await client.simulateContract(call);
    const hash = await wallet.writeContract({ ...call, chain: null });
    await anvil.mine();
    return client.getTransactionReceipt({ hash });
  };
  const sign = (message: Record<string, unknown>) =>
    payer.signTypedData({
      domain: { name: "USDC", version: "2", chainId: 1672, verifyingContract: tokenAddress },
      types,
      primaryType: "TransferWithAuthorization",
      message: message as never,
    });
  const authorization = (change: Record<string, unknown> = {}) => ({
    from: payer.address,
    to: payee,
    value: 10_000n,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1_000) + 3_600),
    nonce: generatePrivateKey(),
    ...change,
  });
  return { anvil, genesis, payer, read, write, sign, authorization };
}

function split(signature: Hex): readonly [number, Hex, Hex] {
  const { v, yParity, r, s } = parseSignature(signature);
  return [Number(v ?? BigInt(yParity + 27)), r, s];
}

describe("the token", () => {
  test("is deployed once at the documented address", async () => {
    const { anvil, genesis, read, payer } = await startToken();
    const height = await anvil.request("eth_blockNumber");
    expect(await deployContracts(anvil, genesis)).toBe(tokenAddress);
    expect(await anvil.request("eth_blockNumber")).toBe(height);
    expect([await read("name"), await read("version"), await read("decimals")]).toEqual(["USDC", "2", 6]);
    expect(await read("balanceOf", payer.address)).toBe(1_000_000_000_000n);
  });

  test.each(["one signature", "v, r and s"])("accepts transferWithAuthorization with %s only once", async (form) => {
    const { read, write, sign, authorization, payer } = await startToken();
    const message = authorization();
    const signature = await sign(message);
    const args = [...Object.values(message), ...(form === "v, r and s" ? split(signature) : [signature])];
    expect(await read("authorizationState", payer.address, message.nonce)).toBe(false);
    expect((await write("transferWithAuthorization", args)).status).toBe("success");
    expect(await read("balanceOf", payee)).toBe(10_000n);
    expect(await read("authorizationState", payer.address, message.nonce)).toBe(true);
    await expect(write("transferWithAuthorization", args)).rejects.toThrow("ERC3009UsedAuthorization");
    expect(await read("balanceOf", payee)).toBe(10_000n);
  });

  test("rejects a payment with another signed amount, before or after its validity, or over the balance", async () => {
    const { write, sign, authorization } = await startToken();
    const attempt = async (change: Record<string, unknown>, signed: Record<string, unknown> = {}) => {
      const message = authorization(change);
      const signature = await sign({ ...message, ...signed });
      return write("transferWithAuthorization", [...Object.values(message), signature]);
    };
    await expect(attempt({}, { value: 1n })).rejects.toThrow("ERC3009InvalidSignature");
    await expect(attempt({ validAfter: 1n << 40n })).rejects.toThrow("ERC3009InvalidAuthorizationTime");
    await expect(attempt({ validBefore: 1n })).rejects.toThrow("ERC3009InvalidAuthorizationTime");
    await expect(attempt({ value: 1n << 60n })).rejects.toThrow("ERC20InsufficientBalance");
  });
});
