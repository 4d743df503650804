import {
  permit2WitnessTypes,
  uptoPermit2WitnessTypes,
  x402ExactPermit2ProxyABI,
  x402UptoPermit2ProxyABI,
} from "@x402/evm";
import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  erc20Abi,
  http,
  maxUint256,
  parseSignature,
  type Address,
  type Hex,
} from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plainTokenAddress } from "#devnet/contracts/addresses.ts";
import { canonicalContracts, findDeployedContracts, listContracts } from "#x402/contracts.ts";
import {
  startPaymentChain,
  testAccount,
  type PaymentChain,
  type TestAccount,
} from "../../support/payments/payment-chain.ts";

const facilitator = testAccount(0);
const payer = testAccount(1);
const payee = testAccount(2).address;
const { exactProxy, uptoProxy, permit2 } = canonicalContracts;
const chainId = 1672;
const later = 4_000_000_000n;

let chain: PaymentChain;
let reader: ReturnType<typeof createPublicClient>;
beforeAll(async () => {
  chain = await startPaymentChain({ blockTimeSeconds: 3_600 });
  reader = createPublicClient({ transport: http(chain.url), cacheTime: 0 });
});
afterAll(() => chain?.[Symbol.asyncDispose]());

const balanceOf = (token: Address, holder: Address) =>
  reader.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [holder] });
const approvePermit2 = encodeFunctionData({
  abi: erc20Abi,
  functionName: "approve",
  args: [permit2.address, maxUint256],
});

async function sendCall({ account }: TestAccount, call: Readonly<{ to: Address; data: Hex }>): Promise<void> {
  const hash = await createWalletClient({ account, transport: http(chain.url) }).sendTransaction({
    ...call,
    chain: null,
  });
  await chain.anvil.mine();
  const { status } = await reader.getTransactionReceipt({ hash });
  if (status !== "success") throw new Error(`the call of ${call.to} reverted in ${hash}`);
}

let nonces = 0n;

/** Signs a permit of the plain token as `payer`, with its witness; `changes` are made after signing. */
async function signPermit(kind: "exact" | "upto", changes: Readonly<{ deadline?: bigint; signer?: number }> = {}) {
  const spender = kind === "exact" ? exactProxy.address : uptoProxy.address;
  const permit = {
    permitted: { token: plainTokenAddress, amount: 1_000n },
    nonce: nonces++,
    deadline: changes.deadline ?? later,
  } as const;
  const witness = { to: payee, facilitator: facilitator.address, validAfter: 0n } as const;
  const signature = await testAccount(changes.signer ?? 1).account.signTypedData({
    domain: { name: "Permit2", chainId, verifyingContract: permit2.address },
    types: kind === "exact" ? permit2WitnessTypes : uptoPermit2WitnessTypes,
    primaryType: "PermitWitnessTransferFrom",
    message: { ...permit, spender, witness } as never,
  });
  return { permit, witness, signature };
}

type Signed = Awaited<ReturnType<typeof signPermit>>;

function encodeExact({ permit, witness, signature }: Signed): Hex {
  const args = [permit, payer.address, witness, signature] as const;
  return encodeFunctionData({ abi: x402ExactPermit2ProxyABI, functionName: "settle", args });
}

function encodeUpto({ permit, witness, signature }: Signed, amount: bigint): Hex {
  const args = [permit, amount, payer.address, witness, signature] as const;
  return encodeFunctionData({ abi: x402UptoPermit2ProxyABI, functionName: "settle", args });
}

async function findRevert(to: Address, data: Hex, from: Address = facilitator.address): Promise<string | undefined> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_call", params: [{ from, to, data }, "latest"] });
  const response = await fetch(chain.url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return ((await response.json()) as { error?: { data: string } }).error?.data;
}

const invalidNonce = "0x756688fe";
const invalidSigner = "0x815e1d64";
const signatureExpired = "0xcd21db4f";
const transferFailed = /^0x08c379a0.*5452414e534645525f46524f4d5f4641494c4544/; // TRANSFER_FROM_FAILED

test("deploys every contract that payments call", async () => {
  const deployedContracts = await findDeployedContracts((address) => reader.getCode({ address }));
  expect([...deployedContracts]).toEqual(listContracts());
});

test("rejects invalid permits with the errors of the real Permit2, and settles each permit once", async () => {
  const { permit, witness, signature } = await signPermit("exact");
  const settle = encodeExact({ permit, witness, signature });
  expect(await findRevert(exactProxy.address, settle), "no allowance").toMatch(transferFailed);

  const approval = await payer.account.signTypedData({
    domain: { name: "Devnet Plain Token", version: "1", chainId, verifyingContract: plainTokenAddress },
    types: {
      Permit: ["address owner", "address spender", "uint256 value", "uint256 nonce", "uint256 deadline"].map(
        (field) => {
          const [type = "", name = ""] = field.split(" ");
          return { type, name };
        },
      ),
    },
    primaryType: "Permit",
    message: { owner: payer.address, spender: permit2.address, value: 1_000n, nonce: 0n, deadline: later },
  });
  const { r, s, yParity } = parseSignature(approval);
  const permit2612 = { value: 1_000n, deadline: later, r, s, v: 27 + yParity };
  const args = [permit2612, permit, payer.address, witness, signature] as const;
  const data = encodeFunctionData({ abi: x402ExactPermit2ProxyABI, functionName: "settleWithPermit", args });
  const balanceBefore = await balanceOf(plainTokenAddress, payee);
  await sendCall(facilitator, { to: exactProxy.address, data });
  expect(await balanceOf(plainTokenAddress, payee)).toBe(balanceBefore + 1_000n);
  expect(await findRevert(exactProxy.address, settle), "used").toBe(invalidNonce);

  await sendCall(payer, { to: plainTokenAddress, data: approvePermit2 });
  const expiredPermit = await signPermit("exact", { deadline: 1n });
  expect(await findRevert(exactProxy.address, encodeExact(expiredPermit))).toMatch(signatureExpired);
  const forgedPermit = await signPermit("exact", { signer: 3 });
  expect(await findRevert(exactProxy.address, encodeExact(forgedPermit))).toBe(invalidSigner);
  const redirectedPermit = await signPermit("exact");
  const stolen = { ...redirectedPermit, witness: { ...redirectedPermit.witness, to: facilitator.address } };
  expect(await findRevert(exactProxy.address, encodeExact(stolen))).toBe(invalidSigner);

  const upTo = await signPermit("upto");
  expect(await findRevert(uptoProxy.address, encodeUpto(upTo, 1_001n)), "more than permitted").toBe("0xfe64b4c7");
  expect(await findRevert(uptoProxy.address, encodeUpto(upTo, 400n), payee), "another sender").toBe("0x0f6fae87");
  await sendCall(facilitator, { to: uptoProxy.address, data: encodeUpto(upTo, 400n) });
  expect(await balanceOf(plainTokenAddress, payee)).toBe(balanceBefore + 1_400n);
});
