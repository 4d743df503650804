import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import type { PaymentRequirements } from "@x402/core/types";
import {
  concatHex,
  createPublicClient,
  encodeFunctionData,
  erc20Abi,
  http,
  maxUint256,
  parseAbi,
  serializeErc6492Signature,
  toHex,
  type Address,
  type Hex,
} from "viem";
import { expect, test } from "vitest";
import { plainTokenAddress, walletFactoryAddress } from "#devnet/contracts/addresses.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { startPaymentChain, testAccount, type TestAccount } from "../support/payments/payment-chain.ts";
import { amount, encodeSubmission, signPayment } from "../support/facilitator/signed-payment.ts";

const payee = testAccount(2).address;
/** Also signs; a payer of `upto` may specify it. */
const otherSigner = testAccount(10);
const settings = (token: Address, keys = [testAccount(0), otherSigner]) => ({
  GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([
    { address: token, name: "USDC", version: "2" },
    { address: plainTokenAddress, name: "Devnet Plain Token", version: "1" },
  ]),
  GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "500000",
  GATEHOUSE_FACILITATOR_CHAIN_WALLET_FACTORIES: JSON.stringify([walletFactoryAddress]),
  GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: keys.map(({ privateKey }) => privateKey).join("\n"),
});
const scene = useFacilitatorScene({
  ledger: "kinds",
  env: async ({ anvil, token }) => {
    await anvil.request("anvil_setBalance", [otherSigner.address, toHex(10n ** 20n)]);
    return settings(token);
  },
});
const permit2 = canonicalContracts.permit2.address;
const factoryAbi = parseAbi([
  "function createWallet(address owner, bytes32 salt) returns (address)",
  "function addressOf(address owner, bytes32 salt) view returns (address)",
]);

const connect = () => createPublicClient({ transport: http(scene.chain.url), pollingInterval: 50 });
const balanceOf = (token: Address, holder: Address) =>
  connect().readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [holder] });

const approve = (payer: TestAccount, token: Address, value: bigint) =>
  scene.chain.send(
    payer,
    token,
    encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [permit2, value] }),
  );

type Offered = Readonly<{ scheme?: string; asset?: Address; amount?: string; extra?: Record<string, unknown> }>;

function offer({
  scheme = "exact",
  asset = plainTokenAddress,
  amount: price = "10000",
  extra = {},
}: Offered): PaymentRequirements {
  const terms = { network: "eip155:1672", payTo: payee, maxTimeoutSeconds: 60 } as const;
  return { scheme, asset, amount: price, ...terms, extra };
}

/** Pays an offer with the published client; `context` has the seller's extensions. */
async function pay(payer: TestAccount, accepted: PaymentRequirements, context?: object) {
  const signer = {
    address: payer.address,
    signTypedData: (message: never) => payer.account.signTypedData(message),
    readContract: (call: never) => connect().readContract(call),
  };
  const client = accepted.scheme === "upto" ? new UptoEvmScheme(signer) : new ExactEvmScheme(signer);
  const createdPayload = await client.createPaymentPayload(2, accepted, context as never);
  return { x402Version: 2, paymentPayload: { accepted, ...createdPayload }, paymentRequirements: accepted };
}

const byPermit2 = (scheme = "exact"): PaymentRequirements =>
  offer({ scheme, extra: { assetTransferMethod: "permit2", name: "Devnet Plain Token", version: "1" } });

async function uptoOffer(max: string): Promise<PaymentRequirements> {
  const { kinds } = (await (await fetch(`${scene.facilitator.url}/supported`)).json()) as {
    kinds: { scheme: string; extra?: Record<string, unknown> }[];
  };
  const extra = kinds.find(({ scheme }) => scheme === "upto")?.extra;
  return offer({ scheme: "upto", amount: max, extra: { ...extra, name: "Devnet Plain Token", version: "1" } });
}

test("settles a plain ERC-20 payment by Permit2 once", async () => {
  const payer = testAccount(1);
  await approve(payer, plainTokenAddress, maxUint256);
  const body = await pay(payer, byPermit2());
  const balanceBefore = await balanceOf(plainTokenAddress, payee);
  expect((await scene.facilitator.verify(body)).body).toEqual({ isValid: true, payer: payer.address });
  const { body: settled } = await scene.facilitator.as("one").settle(body);
  expect(settled).toMatchObject({ success: true, payer: payer.address });
  expect((await balanceOf(plainTokenAddress, payee)) - balanceBefore).toBe(10_000n);
  expect((await scene.facilitator.as("one").settle(body)).body).toEqual(settled);
  expect((await scene.facilitator.as("another").settle(body)).body).toMatchObject({
    success: false,
    errorReason: "duplicate_settlement",
  });
  expect((await scene.facilitator.verify(body)).body).toMatchObject({
    isValid: false,
    invalidReason: "permit2_invalid_nonce",
  });
});

test("rejects a Permit2 payment without an allowance, and submits the payer's EIP-2612 approval", async () => {
  const payer = testAccount(3);
  const rejectedResponse = await pay(payer, byPermit2());
  expect((await scene.facilitator.verify(rejectedResponse)).body).toMatchObject({
    isValid: false,
    invalidReason: "permit2_allowance_required",
  });
  const sponsoredResponse = await pay(payer, byPermit2(), { extensions: { eip2612GasSponsoring: {} } });
  expect(sponsoredResponse.paymentPayload).toHaveProperty("extensions.eip2612GasSponsoring.info.signature");
  expect((await scene.facilitator.verify(sponsoredResponse)).body).toMatchObject({ isValid: true });
  const balanceBefore = await balanceOf(plainTokenAddress, payee);
  expect((await scene.facilitator.settle(sponsoredResponse)).body).toMatchObject({ success: true });
  expect((await balanceOf(plainTokenAddress, payee)) - balanceBefore).toBe(10_000n);
});

test.each([
  ["another spender", { spender: payee }, "invalid_permit2_spender"],
  [
    "another recipient",
    { witness: { to: testAccount(4).address, validAfter: "0" } },
    "invalid_permit2_recipient_mismatch",
  ],
  ["another amount", { permitted: { token: plainTokenAddress, amount: "9999" } }, "permit2_amount_mismatch"],
  ["a nonce other than signed", { nonce: "7" }, "invalid_permit2_signature"],
  ["a deadline in the past", { deadline: "1" }, "invalid_permit2_signature"],
])("rejects a Permit2 payment with %s", async (_, change, reason) => {
  const body = await pay(testAccount(1), byPermit2());
  const payload = body.paymentPayload.payload as { permit2Authorization: object };
  const changedPayload = { ...payload, permit2Authorization: { ...payload.permit2Authorization, ...change } };
  const { body: verdict } = await scene.facilitator.verify({
    ...body,
    paymentPayload: { ...body.paymentPayload, payload: changedPayload },
  });
  expect(verdict).toMatchObject({ isValid: false, invalidReason: reason });
});

test("settles the used amount of an upto payment, and sends nothing for 0", async () => {
  const payer = testAccount(1);
  await approve(payer, plainTokenAddress, maxUint256);
  const acceptedOffer = await uptoOffer("20000");
  const body = await pay(payer, acceptedOffer);
  expect((await scene.facilitator.verify(body)).body).toEqual({ isValid: true, payer: payer.address });
  const used = { ...body, paymentRequirements: { ...acceptedOffer, amount: "1858" } };
  expect((await scene.facilitator.verify(used)).body).toMatchObject({ isValid: false });
  const more = { ...body, paymentRequirements: { ...acceptedOffer, amount: "20001" } };
  expect((await scene.facilitator.settle(more)).body).toMatchObject({
    success: false,
    errorReason: "invalid_upto_evm_payload_settlement_exceeds_amount",
  });
  const balanceBefore = await balanceOf(plainTokenAddress, payee);
  const { body: settled } = await scene.facilitator.as("metered").settle(used);
  expect(settled).toMatchObject({ success: true, amount: "1858" });
  expect((await balanceOf(plainTokenAddress, payee)) - balanceBefore).toBe(1_858n);
  expect(
    (
      await scene.facilitator
        .as("metered")
        .settle({ ...used, paymentRequirements: { ...acceptedOffer, amount: "2000" } })
    ).body,
  ).toEqual(settled);
  const unusedResponse = await pay(payer, acceptedOffer);
  const nothing = { ...unusedResponse, paymentRequirements: { ...acceptedOffer, amount: "0" } };
  expect((await scene.facilitator.settle(nothing)).body).toEqual({
    success: true,
    transaction: "",
    network: "eip155:1672",
    amount: "0",
    payer: payer.address,
  });
});

test("submits an upto payment with the signer that its payer specified", async () => {
  const acceptedOffer = await uptoOffer("20000");
  await approve(testAccount(1), plainTokenAddress, maxUint256);
  const named = { ...acceptedOffer, extra: { ...acceptedOffer.extra, facilitatorAddress: otherSigner.address } };
  const body = await pay(testAccount(1), named);
  expect((await scene.facilitator.verify(body)).body).toMatchObject({ isValid: true });
  const { body: settled } = await scene.facilitator.settle(body);
  expect(settled).toMatchObject({ success: true });
  const { from } = await connect().getTransaction({ hash: settled.transaction as Hex });
  expect(from.toLowerCase()).toBe(otherSigner.address.toLowerCase());
  const foreign = { ...acceptedOffer, extra: { ...acceptedOffer.extra, facilitatorAddress: payee } };
  expect((await scene.facilitator.verify(await pay(testAccount(1), foreign))).body).toMatchObject({
    isValid: false,
    invalidReason: "upto_facilitator_mismatch",
  });
});

test("repeats an upto payment's outcome to its owner after its signer was removed", async () => {
  const acceptedOffer = await uptoOffer("20000");
  const named = { ...acceptedOffer, extra: { ...acceptedOffer.extra, facilitatorAddress: otherSigner.address } };
  const [settled, unsettled] = [await pay(testAccount(1), named), await pay(testAccount(1), named)];
  let told: unknown;
  {
    await using all = await scene.start("removed-signer", settings(scene.chain.token));
    told = (await all.as("one").settle(settled)).body;
    expect(told).toMatchObject({ success: true });
  }
  await using fewer = await scene.start("removed-signer", settings(scene.chain.token, [testAccount(0)]));
  expect((await fewer.as("one").settle(settled)).body).toEqual(told);
  const nothing = { ...unsettled, paymentRequirements: { ...named, amount: "0" } };
  for (const body of [unsettled, nothing])
    expect((await fewer.settle(body)).body).toMatchObject({ errorReason: "upto_facilitator_mismatch" });
});

test("reserves the maximum of a verified upto payment until it is settled", async () => {
  const payer = testAccount(5);
  await approve(payer, plainTokenAddress, 30_000n);
  const [first, second] = [await pay(payer, await uptoOffer("20000")), await pay(payer, await uptoOffer("20000"))];
  expect((await scene.facilitator.verify(first)).body).toMatchObject({ isValid: true });
  expect((await scene.facilitator.verify(first)).body).toMatchObject({ isValid: true });
  expect((await scene.facilitator.verify(second)).body).toMatchObject({
    isValid: false,
    invalidReason: "permit2_allowance_required",
  });
  const used = { ...first, paymentRequirements: { ...first.paymentRequirements, amount: "5000" } };
  expect((await scene.facilitator.settle(used)).body).toMatchObject({ success: true });
  expect((await scene.facilitator.verify(second)).body).toMatchObject({ isValid: true });
});

/** Creates a wallet that an account owns, or returns its address and its creation call. */
async function findWallet(owner: TestAccount, salt: Hex) {
  const args = [owner.address, salt] as const;
  const address = await connect().readContract({
    address: walletFactoryAddress,
    abi: factoryAbi,
    functionName: "addressOf",
    args,
  });
  return { address, creation: encodeFunctionData({ abi: factoryAbi, functionName: "createWallet", args }) };
}

async function fund(wallet: Address): Promise<void> {
  await scene.chain.send(
    testAccount(1),
    scene.chain.token,
    encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [wallet, amount] }),
  );
}

test("settles a contract wallet's EIP-3009 payment only with its owner's signature (ERC-1271)", async () => {
  const owner = testAccount(6);
  const { address, creation } = await findWallet(owner, toHex(1, { size: 32 }));
  await scene.chain.send(owner, walletFactoryAddress, creation);
  await fund(address);
  const forgedPayment = await signPayment(scene.chain.token, { payer: { ...testAccount(7), address } });
  expect((await scene.facilitator.verify(forgedPayment)).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_exact_evm_signature",
  });
  const body = await signPayment(scene.chain.token, { payer: { ...owner, address } });
  expect((await scene.facilitator.verify(body)).body).toEqual({ isValid: true, payer: address });
  expect((await scene.facilitator.settle(body)).body).toMatchObject({ success: true, payer: address });
  expect(await scene.chain.balanceOf(address)).toBe(0n);
});

test("repeats a wallet payment's outcome even if the wallet now rejects the signature", async () => {
  const owner = testAccount(6);
  const { address, creation } = await findWallet(owner, toHex(4, { size: 32 }));
  await scene.chain.send(owner, walletFactoryAddress, creation);
  await fund(address);
  const body = await signPayment(scene.chain.token, { payer: { ...owner, address } });
  const { body: told } = await scene.facilitator.as("one").settle(body);
  expect(told).toMatchObject({ success: true });
  await scene.chain.anvil.request("anvil_setCode", [address, "0x60006000fd"]);
  expect((await scene.facilitator.as("one").settle(body)).body).toEqual(told);
  const payload = body.paymentPayload.payload as { signature: Hex };
  const forgedPayload = { ...payload, signature: concatHex([payload.signature, "0x00"]) };
  const copy = { ...body, paymentPayload: { ...body.paymentPayload, payload: forgedPayload } };
  expect((await scene.facilitator.as("one").settle(copy)).body).toMatchObject({
    errorReason: "invalid_exact_evm_signature",
  });
});

test("creates a wallet in the transaction of its first payment (ERC-6492)", async () => {
  const owner = testAccount(6);
  const { address, creation } = await findWallet(owner, toHex(2, { size: 32 }));
  await fund(address);
  const wrap = (signature: Hex) =>
    serializeErc6492Signature({ address: walletFactoryAddress, data: creation, signature });
  const forgedPayment = await signPayment(scene.chain.token, {
    payer: { ...testAccount(7), address },
    signature: wrap,
  });
  expect((await scene.facilitator.verify(forgedPayment)).body).toMatchObject({ isValid: false });
  const body = await signPayment(scene.chain.token, { payer: { ...owner, address }, signature: wrap });
  expect((await scene.facilitator.verify(body)).body).toEqual({ isValid: true, payer: address });
  expect(await connect().getCode({ address })).toBeUndefined();
  expect((await scene.facilitator.settle(body)).body).toMatchObject({ success: true, payer: address });
  expect(await scene.chain.balanceOf(address)).toBe(0n);
  expect(await connect().getCode({ address })).toBeDefined();
});

test("rejects a wallet's creation by an unlisted factory, without a transaction", async () => {
  const owner = testAccount(6);
  const { address } = await findWallet(owner, toHex(7, { size: 32 }));
  const body = await signPayment(scene.chain.token, {
    payer: { ...owner, address },
    signature: (signature) => serializeErc6492Signature({ address: payee, data: "0x12345678", signature }),
  });
  expect((await scene.facilitator.verify(body)).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_exact_evm_signature",
    invalidMessage: expect.stringContaining("is not in chain.walletFactories"),
  });
  expect((await scene.facilitator.settle(body)).body).toMatchObject({ success: false, transaction: "" });
});

test("settles once, for its verifier, a payment that a third party submitted after verify", async () => {
  const payer = testAccount(1);
  const [body, other] = [
    await signPayment(scene.chain.token, { payer }),
    await signPayment(scene.chain.token, { payer }),
  ];
  expect((await scene.facilitator.as("one").verify(body)).body).toMatchObject({ isValid: true });
  await scene.chain.send(testAccount(9), scene.chain.token, encodeSubmission(body));
  // The payer's next settlement invalidates the first verdict, as two seconds would.
  expect((await scene.facilitator.as("one").settle(other)).body).toMatchObject({ success: true });
  const { body: settled } = await scene.facilitator.as("one").settle(body);
  expect(settled).toMatchObject({ success: true, payer: payer.address });
  expect((await scene.facilitator.as("one").settle(body)).body).toEqual(settled);
  expect((await scene.facilitator.as("another").settle(body)).body).toMatchObject({
    errorReason: "duplicate_settlement",
  });
});

test("settles a delegated account's payment (EIP-7702) with its delegate's signature", async () => {
  const [payer, owner] = [testAccount(8), testAccount(6)];
  const { address: delegate, creation } = await findWallet(owner, toHex(3, { size: 32 }));
  await scene.chain.send(owner, walletFactoryAddress, creation);
  await scene.chain.anvil.request("anvil_setCode", [payer.address, concatHex(["0xef0100", delegate])]);
  const forgedPayment = await signPayment(scene.chain.token, { payer: { ...testAccount(7), address: payer.address } });
  expect((await scene.facilitator.verify(forgedPayment)).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_exact_evm_signature",
  });
  const body = await signPayment(scene.chain.token, { payer: { ...owner, address: payer.address } });
  expect((await scene.facilitator.verify(body)).body).toEqual({ isValid: true, payer: payer.address });
  expect((await scene.facilitator.settle(body)).body).toMatchObject({ success: true });
});

test("neither offers nor settles payment kinds whose contracts are missing from the chain", async () => {
  await using other = await startPaymentChain();
  await other.anvil.request("anvil_setCode", [permit2, "0x"]);
  await using bare = await scene.start("bare", {}, { rpcUrl: other.url, token: other.token });
  const supportedResponse = (await (await fetch(`${bare.url}/supported`)).json()) as {
    kinds: { scheme: string }[];
    extensions: string[];
  };
  expect(supportedResponse).toMatchObject({ kinds: [{ scheme: "exact" }], extensions: [] });
  const acceptedOffer = offer({
    asset: other.token,
    extra: { assetTransferMethod: "permit2", name: "USDC", version: "2" },
  });
  expect((await bare.verify(await pay(testAccount(1), acceptedOffer))).body).toMatchObject({
    isValid: false,
    invalidReason: "permit2_proxy_not_deployed",
  });
});

const permitTypes = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
  Witness: [
    { name: "to", type: "address" },
    { name: "validAfter", type: "uint256" },
  ],
} as const;

/** Signs an exact Permit2 payment with a chosen nonce. */
async function signPermit2(payer: TestAccount, nonce: bigint, accepted = byPermit2(), from: Address = payer.address) {
  const deadline = BigInt(Math.floor(Date.now() / 1000) + 50);
  const message = {
    permitted: { token: accepted.asset as Address, amount: BigInt(accepted.amount) },
    spender: canonicalContracts.exactProxy.address as Address,
    nonce,
    deadline,
    witness: { to: accepted.payTo as Address, validAfter: 0n },
  };
  const signature = await payer.account.signTypedData({
    domain: { name: "Permit2", chainId: 1672, verifyingContract: permit2 as Address },
    types: permitTypes,
    primaryType: "PermitWitnessTransferFrom",
    message,
  });
  const permit2Authorization = {
    from,
    permitted: { token: message.permitted.token, amount: accepted.amount },
    spender: message.spender,
    nonce: String(nonce),
    deadline: String(deadline),
    witness: { to: message.witness.to, validAfter: "0" },
  };
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted, payload: { signature, permit2Authorization } },
    paymentRequirements: accepted,
  };
}

test("does not count another payment's transfer for a cancelled Permit2 nonce", async () => {
  // The payer is rejected for a while afterwards.
  const payer = testAccount(4);
  await approve(payer, plainTokenAddress, maxUint256);
  const real = await signPermit2(payer, 123_456_789n);
  const { body: first } = await scene.facilitator.as("s1").settle(real);
  expect(first).toMatchObject({ success: true });
  const fake = await signPermit2(payer, 0n);
  const balanceBefore = await balanceOf(plainTokenAddress, payee);
  expect((await scene.facilitator.as("s2").verify(fake)).body).toMatchObject({ isValid: true });
  // The payer cancels the nonce right after its verification.
  const data = encodeFunctionData({
    abi: parseAbi(["function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)"]),
    functionName: "invalidateUnorderedNonces",
    args: [0n, 1n],
  });
  await scene.chain.send(payer, permit2 as Address, data);
  const { body } = await scene.facilitator.as("s2").settle(fake);
  expect((await balanceOf(plainTokenAddress, payee)) - balanceBefore).toBe(0n);
  expect(body).toMatchObject({ success: false });
});

test("checks a verified payment with a forged signature again, and settles the valid copy", async () => {
  const payer = testAccount(1);
  const good = await signPayment(scene.chain.token, { payer });
  expect((await scene.facilitator.verify(good)).body).toMatchObject({ isValid: true });
  const junk = serializeErc6492Signature({ address: walletFactoryAddress, data: "0xdeadbeef", signature: "0x1234" });
  const { payload } = good.paymentPayload;
  const bad = { ...good, paymentPayload: { ...good.paymentPayload, payload: { ...payload, signature: junk } } };
  const { body } = await scene.facilitator.as("thief").settle(bad);
  expect(body.transaction).toBe("");
  // The good payment still settles.
  const { body: later } = await scene.facilitator.as("seller").settle(good);
  expect(later).toMatchObject({ success: true });
});

test("none of several payments with the same EIP-2612 approval reverts", async () => {
  const payer = testAccount(3);
  const bodies = [];
  for (let i = 0; i < 4; i += 1)
    bodies.push(await pay(payer, byPermit2(), { extensions: { eip2612GasSponsoring: {} } }));
  await scene.chain.anvil.request("evm_setIntervalMining", [2]);
  const responses = await Promise.all(bodies.map((body, i) => scene.facilitator.as(`c${i}`).settle(body)));
  const revertedResponses = responses.filter(({ body }) => !body.success && body.transaction !== "");
  expect(revertedResponses).toHaveLength(0);
});

test("releases the reservation of an unused upto payment", async () => {
  const payer = testAccount(9);
  await approve(payer, plainTokenAddress, 30_000n);
  const acceptedOffer = await uptoOffer("20000");
  const [first, second] = [await pay(payer, acceptedOffer), await pay(payer, acceptedOffer)];
  expect((await scene.facilitator.verify(first)).body).toMatchObject({ isValid: true });
  const nothing = { ...first, paymentRequirements: { ...acceptedOffer, amount: "0" } };
  expect((await scene.facilitator.settle(nothing)).body).toMatchObject({ success: true, amount: "0" });
  expect((await scene.facilitator.verify(second)).body).toMatchObject({ isValid: true });
});

test("repeats an upto charge of 0 only to its owner, and rejects a forged copy", async () => {
  const payer = testAccount(5);
  await approve(payer, plainTokenAddress, maxUint256);
  const acceptedOffer = await uptoOffer("20000");
  const body = await pay(payer, acceptedOffer);
  const used = { ...body, paymentRequirements: { ...acceptedOffer, amount: "1858" } };
  expect((await scene.facilitator.as("x").settle(used)).body).toMatchObject({ success: true, amount: "1858" });
  const nothing = { ...body, paymentRequirements: { ...acceptedOffer, amount: "0" } };
  const { body: said } = await scene.facilitator.as("x").settle(nothing);
  const { body: other } = await scene.facilitator.as("y").settle(nothing);
  const forged = {
    ...nothing,
    paymentPayload: {
      ...nothing.paymentPayload,
      payload: { ...(nothing.paymentPayload as never as { payload: object }).payload, signature: "0x1234" },
    },
  };
  const { body: forgedSaid } = await scene.facilitator.as("z").settle(forged);
  expect(said).toMatchObject({ amount: "1858" });
  expect(other).toMatchObject({ success: false });
  expect(forgedSaid).toMatchObject({ success: false });
});

test("accepts null extensions", async () => {
  const body = await signPayment(scene.chain.token);
  const paymentPayload = { ...body.paymentPayload, extensions: null };
  expect((await scene.facilitator.verify({ ...body, paymentPayload })).body).toMatchObject({ isValid: true });
});
