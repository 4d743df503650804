import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  erc20Abi,
  http,
  maxUint256,
  parseAbi,
  type Address,
  type FeeValuesEIP1559,
  type Hex,
} from "viem";
import { ExactEvmScheme } from "@x402/evm";
import { expect, test } from "vitest";
import { canonicalContracts } from "#x402/contracts.ts";
import { testAccount, type TestAccount } from "../support/payments/payment-chain.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600, ledger: "moved" });
const connect = () => createPublicClient({ transport: http(scene.chain.url) });

const send = ({ account }: TestAccount, to: Address, data: Hex, fees: FeeValuesEIP1559) =>
  createWalletClient({ account, transport: http(scene.chain.url) }).sendTransaction({
    to,
    data,
    gas: 100_000n,
    ...fees,
    chain: null,
  });
/** Fees that place a transaction first in its block. */
const firstFees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n };

test("rejects a payer, not the token, after it moved its balance out and back around a settlement", async () => {
  const [payer, partner] = [testAccount(7), testAccount(8)];
  const settling = scene.facilitator.settle(await signPayment(scene.chain.token, { payer }));
  await scene.poolHas(1);
  const balance = await scene.chain.balanceOf(payer.address);
  const move = (from: TestAccount, to: TestAccount, fees: FeeValuesEIP1559) => {
    const args = [to.address, balance] as const;
    return send(from, scene.chain.token, encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args }), fees);
  };
  const { baseFeePerGas } = await connect().getBlock();
  const out = await move(payer, partner, firstFees);
  const back = await move(partner, payer, { maxFeePerGas: (baseFeePerGas ?? 0n) + 1n, maxPriorityFeePerGas: 0n });
  await scene.poolHas(3);
  await scene.chain.anvil.request("evm_mine");
  const receipts = await Promise.all([out, back].map((hash) => connect().getTransactionReceipt({ hash })));
  expect(receipts.map(({ status }) => status)).toEqual(["success", "success"]);
  expect(await scene.chain.balanceOf(payer.address)).toBe(balance);
  expect((await settling).body).toMatchObject({ errorReason: "invalid_exact_evm_transaction_failed" });
  expect((await scene.facilitator.verify(await signPayment(scene.chain.token, { payer }))).body).toMatchObject({
    invalidMessage: expect.stringContaining(`the payer ${payer.address.toLowerCase()} cancelled a payment`),
  });
  const others = scene.facilitator.settle(await signPayment(scene.chain.token));
  await scene.poolHas(1);
  await scene.chain.anvil.request("evm_mine");
  expect((await others).body).toMatchObject({ success: true });
});

test("fails a Permit2 settlement at once when its payer cancels the nonce", async () => {
  const payer = testAccount(6);
  const permit2 = canonicalContracts.permit2.address;
  const approval = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [permit2, maxUint256] });
  await send(payer, scene.chain.token, approval, firstFees);
  await scene.poolHas(1);
  await scene.chain.anvil.request("evm_mine");
  const terms = { scheme: "exact", network: "eip155:1672", asset: scene.chain.token, amount: "10000" } as const;
  const extra = { assetTransferMethod: "permit2", name: "USDC", version: "2" };
  const accepted = { ...terms, payTo: testAccount(2).address, maxTimeoutSeconds: 300, extra };
  const signed = await new ExactEvmScheme(payer.account).createPaymentPayload(2, accepted);
  const body = { paymentPayload: { accepted, ...signed }, paymentRequirements: accepted };
  const settling = scene.facilitator.settle(body);
  await scene.poolHas(1);
  const { nonce } = signed.payload["permit2Authorization"] as Readonly<{ nonce: string }>;
  const cancellation = encodeFunctionData({
    abi: parseAbi(["function invalidateUnorderedNonces(uint256 word, uint256 mask)"]),
    args: [BigInt(nonce) >> 8n, 1n << (BigInt(nonce) & 0xffn)],
  });
  await send(payer, permit2, cancellation, firstFees);
  await scene.poolHas(2);
  await scene.chain.anvil.request("evm_mine");
  expect((await settling).body).toMatchObject({ errorReason: "permit2_invalid_nonce" });
});
