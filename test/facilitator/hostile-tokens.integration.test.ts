import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  http,
  parseAbi,
  type Address,
  type Hex,
} from "viem";
import { expect, test } from "vitest";
import { compileToken } from "#devnet/contracts/compiler.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

/** A token that accepts everything in a simulation, and in a block behaves according to its mode; 0 logs the transfer. */
const source = `// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

contract Token {
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event Transfer(address indexed from, address indexed to, uint256 value);

    uint256 public mode;

    function setMode(uint256 next) external { mode = next; }
    function balanceOf(address) external pure returns (uint256) { return type(uint256).max; }
    function authorizationState(address, bytes32) external pure returns (bool) { return false; }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256, uint256, bytes32 nonce, uint8, bytes32, bytes32
    ) external returns (bool) {
        uint256 acts = tx.gasprice == 0 ? 0 : mode;
        if (acts == 1) revert("not today");
        if (acts == 2) assembly { invalid() }
        if (acts == 3) return false;
        if (acts == 5) {
            (bool ok,) = address(this).call(msg.data);
            return ok;
        }
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, acts == 4 ? value / 2 : value);
        return true;
    }
}
`;

const kinds = [
  "reverts",
  "burns all gas",
  "returns false and moves nothing",
  "logs another amount",
  "calls itself again",
];
const gasLimit = 200_000n;
/** A token that accepts a used authorization without a transfer, also in a block. */
const laxSource = `// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

contract Token {
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event Transfer(address indexed from, address indexed to, uint256 value);

    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    function balanceOf(address) external pure returns (uint256) { return type(uint256).max; }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256, uint256, bytes32 nonce, uint8, bytes32, bytes32
    ) external returns (bool) {
        if (authorizationState[from][nonce]) return true;
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        emit Transfer(from, to, value);
        return true;
    }
}
`;
let tokens: readonly Address[];
let laxToken: Address;
const scene = useFacilitatorScene({
  ledger: "hostile",
  env: async ({ url, token }) => {
    const data = compileToken(source).bytecode as Hex;
    const deployed: Address[] = [];
    for (const _ of [...kinds, "accepts"]) deployed.push((await send({ data }, url)).contractAddress as Address);
    tokens = deployed;
    laxToken = (await send({ data: compileToken(laxSource).bytecode as Hex }, url)).contractAddress as Address;
    const assets = [token, laxToken, ...tokens].map((address) => ({ address, name: "USDC", version: "2" }));
    return { GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify(assets) };
  },
});
const signer = testAccount(0).address;

const connect = (url = scene.chain.url) => createPublicClient({ transport: http(url), pollingInterval: 20 });

async function send(request: Readonly<{ to?: Address; data: Hex }>, url = scene.chain.url, from = 9) {
  const wallet = createWalletClient({ account: testAccount(from).account, transport: http(url) });
  const hash = await wallet.sendTransaction({ ...request, gas: 2_000_000n, chain: null });
  return connect(url).waitForTransactionReceipt({ hash });
}

const setMode = (to: Address, mode: number) =>
  send({ to, data: encodeFunctionData({ abi: parseAbi(["function setMode(uint256 next)"]), args: [BigInt(mode)] }) });

/** Sums the gas limits of the signer's transactions since a nonce. */
async function sumGasSince(nonce: number): Promise<bigint> {
  const latestBlockNumber = await connect().getBlockNumber();
  const blocks = await Promise.all(
    Array.from({ length: Number(latestBlockNumber) + 1 }, (_, number) =>
      connect().getBlock({ blockNumber: BigInt(number), includeTransactions: true }),
    ),
  );
  const own = blocks
    .flatMap(({ transactions }) => transactions)
    .filter((sent) => BigInt(sent.from) === BigInt(signer) && sent.nonce >= nonce);
  return own.reduce((sum, { gas }) => sum + gas, 0n);
}

const nextNonce = () => connect().getTransactionCount({ address: signer });

test.each(kinds.map((kind, at) => [kind, at] as const))(
  "temporarily rejects a token that %s after a successful simulation, but not its payer",
  async (_, at) => {
    const token = tokens[at] as Address;
    await setMode(token, at + 1);
    const from = await nextNonce();
    const { body } = await scene.facilitator.settle(await signPayment(token));
    expect(body.success).toBe(false);
    expect(body.errorReason).toMatch(/^invalid_exact_evm_(transaction_failed|transfer_event_mismatch)$/);
    // After running out of gas, a settlement is resent once with the max.
    expect(await sumGasSince(from)).toBeLessThan(gasLimit + 100_000n);

    const then = await nextNonce();
    const payer = testAccount(3);
    for (const rejected of [await signPayment(token, { payer }), await signPayment(token)]) {
      expect((await scene.facilitator.verify(rejected)).body).toMatchObject({
        isValid: false,
        invalidReason: "invalid_exact_evm_transaction_failed",
        invalidMessage: expect.stringContaining(`the token ${token.toLowerCase()} failed a transfer`),
      });
      expect((await scene.facilitator.settle(rejected)).body).toMatchObject({ success: false });
    }
    expect(await nextNonce()).toBe(then);
    expect((await scene.facilitator.settle(await signPayment(scene.chain.token))).body).toMatchObject({
      success: true,
    });
  },
);

test("settles the other payments of a batch in which one token burns all the gas", async () => {
  const token = tokens.at(-1) as Address;
  expect((await scene.facilitator.settle(await signPayment(token))).body).toMatchObject({ success: true });
  await setMode(token, 2);
  const good = await Promise.all(Array.from({ length: 6 }, () => signPayment(scene.chain.token)));
  const bad = await signPayment(token, { payer: testAccount(3) });
  const [from, before] = [await nextNonce(), await scene.chain.balanceOf(testAccount(2).address)];
  const settling = [...good.slice(0, 3), bad, ...good.slice(3)].map(scene.facilitator.settle);
  const successes = (await Promise.all(settling)).map(({ body }) => body.success);
  expect(successes).toEqual([true, true, true, false, true, true, true]);
  expect((await scene.chain.balanceOf(testAccount(2).address)) - before).toBe(6n * amount);
  // Gas for the good payments, the burnt batch, and the bad payment's own two transactions.
  expect(await sumGasSince(from)).toBeLessThan(3n * 7n * 80_000n + gasLimit);
});

test("settles no payment again in a token that accepts used authorizations", async () => {
  const assets = [{ address: laxToken, name: "USDC", version: "2" }];
  const env = { GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify(assets) };
  const payment = await signPayment(laxToken);
  await using other = await scene.start("lax", env);
  expect((await other.settle(payment)).body).toMatchObject({ success: true });
  const from = await nextNonce();
  expect((await scene.facilitator.verify(payment)).body).toMatchObject({ isValid: false, invalidReason: usedNonce });
  expect((await scene.facilitator.settle(payment)).body).toMatchObject({ success: false, errorReason: usedNonce });
  expect(await nextNonce()).toBe(from);
  expect((await scene.facilitator.settle(await signPayment(laxToken))).body).toMatchObject({ success: true });
});

const usedNonce = "invalid_exact_evm_nonce_already_used";

/** A wallet that confirms any signature: with mode 0 only in simulations, with mode 1 always. */
const walletSource = `// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

contract Token {
    uint256 public mode;

    function setMode(uint256 next) external { mode = next; }
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        require(mode == 1 || (mode == 0 && tx.gasprice == 0), "not today");
        return 0x1626ba7e;
    }
}
`;

test("rejects a wallet that confirms only in simulations, and settles an honest wallet's payment", async () => {
  const data = compileToken(walletSource).bytecode as Hex;
  const transferAbi = parseAbi(["function transfer(address to, uint256 value)"]);
  const createWallet = async (mode: number) => {
    const wallet = (await send({ data })).contractAddress as Address;
    await setMode(wallet, mode);
    const call = encodeFunctionData({ abi: transferAbi, args: [wallet, amount] });
    await send({ to: scene.chain.token, data: call }, scene.chain.url, 1);
    return { wallet, body: await signPayment(scene.chain.token, { payer: { ...testAccount(6), address: wallet } }) };
  };
  const from = await nextNonce();
  const pretender = await createWallet(0);
  expect((await scene.facilitator.verify(pretender.body)).body).toMatchObject({ isValid: false });
  expect((await scene.facilitator.settle(pretender.body)).body).toMatchObject({ success: false, transaction: "" });
  const honest = await createWallet(1);
  expect((await scene.facilitator.settle(honest.body)).body).toMatchObject({ success: true });
  expect(await nextNonce()).toBe(from + 1);
});
