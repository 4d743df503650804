import { type Hex, recoverAddress } from "viem";
import { privateKeyToAccount, sign } from "viem/accounts";
import { encodeFunctionData, hashTypedData, parseAbi } from "viem/utils";
import { Secret } from "#daemon/secrets/secret.ts";
import { createTransactionSigner } from "#facilitator/chain/transaction-signer.ts";
import { encodeAuthorizationState } from "#facilitator/chain/token.ts";
import { isSignedBy, parseSignature } from "#x402/signed-payment.ts";
import { computeAuthorizationDigest, computeDomainSeparator, encodeAuthorization } from "#x402/typed-data.ts";

/** `npm run bench -- signatures`: what the facilitator's own encodings and native signatures save of a call's CPU, each against viem. */
const key: Hex = `0x${"59".repeat(32)}`;
const account = privateKeyToAccount(key);
const token = `0x${"22".repeat(20)}` as const;
const authorization = {
  from: account.address,
  to: token,
  value: 10_000n,
  validAfter: 0n,
  validBefore: 2_000_000_000n,
  nonce: `0x${"77".repeat(32)}`,
} as const;
const domain = { name: "USDC", version: "2", chainId: 1_672, verifyingContract: token };
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
const typed = { domain, types, primaryType: "TransferWithAuthorization", message: authorization } as const;
const abi = parseAbi(["function authorizationState(address,bytes32) view returns (bool)"]);
const transaction = {
  chainId: 1_672,
  nonce: 7,
  to: token,
  data: `0x${"ab".repeat(292)}`,
  gas: 100_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
} as const;

const separator = computeDomainSeparator({ address: token, name: "USDC", version: "2", chainId: 1_672 });
const digest = computeAuthorizationDigest(separator, encodeAuthorization(authorization));
const hash = hashTypedData(typed);
const text = await sign({ hash, privateKey: key, to: "hex" });
const signature = parseSignature(text);
const signer = createTransactionSigner(new Secret(key));
if (signature === undefined || !isSignedBy(account.address, digest, signature)) throw new Error("viem signs otherwise");
if (signer.sign(transaction).rawTransaction !== (await account.signTransaction({ ...transaction, type: "eip1559" })))
  throw new Error("viem's transaction is another");

const rows: readonly (readonly [string, () => unknown, () => unknown])[] = [
  [
    "digest of an authorization (EIP-712)",
    () => computeAuthorizationDigest(separator, encodeAuthorization(authorization)),
    () => hashTypedData(typed),
  ],
  [
    "payer of a signature",
    () => isSignedBy(account.address, digest, signature),
    () => recoverAddress({ hash, signature: text }),
  ],
  [
    "signed transaction",
    () => signer.sign(transaction),
    () => account.signTransaction({ ...transaction, type: "eip1559" }),
  ],
  [
    "call data of authorizationState",
    () => encodeAuthorizationState(account.address, authorization.nonce),
    () => encodeFunctionData({ abi, args: [account.address, authorization.nonce] }),
  ],
];
process.stdout.write(`\nEncodings and signatures, µs of CPU each, best of five rounds (Node ${process.version})\n`);
for (const [what, own, viem] of rows) {
  process.stdout.write(`  ${what}: own ${await measure(own)}, viem ${await measure(viem)}\n`);
}

async function measure(work: () => unknown): Promise<string> {
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const count = 300;
    const before = process.cpuUsage();
    for (let n = 0; n < count; n += 1) await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / count);
  }
  return Math.min(...times).toFixed(1);
}
