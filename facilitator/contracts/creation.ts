import {
  concat,
  getContractAddress,
  isAddressEqual,
  isHex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  size,
  slice,
  type Address,
  type Hex,
} from "viem";
import { canonicalContracts } from "#x402/contracts.ts";

/**
 * How a contract gets to its canonical address on any chain: through a call of the CREATE2 deployer, or through a
 * transaction that was signed without a chain id (before EIP-155), whose sender must be funded first.
 */
export type Creation = Readonly<{ initCode: Hex }> &
  (
    | Readonly<{ kind: "create2"; /** Salt and init code: the CREATE2 deployer's call data. */ data: Hex }>
    | Readonly<{ kind: "presigned"; raw: Hex; hash: Hex; sender: Address; gas: bigint; gasPrice: bigint }>
  );

/**
 * Published salts, for files that contain only init code. Sources: scripts of github.com/Uniswap/permit2 and
 * github.com/coinbase/x402.
 */
const salts = [
  "0x0000000000000000000000000000000000000000d3af2663da51c10215000000",
  "0x0000000000000000000000000000000000000000000000003000000007263b0e",
  "0x000000000000000000000000000000000000000000000000b000000001db633d",
] as const;

const saltBytes = 32;

/**
 * Reads `bytes` as the creation of the contract at `address`: init code, a salt and init code, or a signed transaction. The address is
 * computed from the bytes, so any other bytes return undefined.
 */
export async function readCreation(address: Address, bytes: Hex): Promise<Creation | undefined> {
  if (!isHex(bytes) || size(bytes) <= saltBytes) return undefined;
  for (const data of [bytes, ...salts.map((salt) => concat([salt, bytes]))]) {
    const [salt, initCode] = [slice(data, 0, saltBytes), slice(data, saltBytes)];
    const from = canonicalContracts.create2Deployer.address;
    const created = getContractAddress({ opcode: "CREATE2", from, salt, bytecode: initCode });
    if (isAddressEqual(created, address)) return { kind: "create2", data, initCode };
  }
  const presigned = await readPresigned(bytes);
  if (presigned === undefined) return undefined;
  const created = getContractAddress({ from: presigned.sender, nonce: 0n });
  return isAddressEqual(created, address) ? presigned : undefined;
}

async function readPresigned(raw: Hex): Promise<Extract<Creation, { kind: "presigned" }> | undefined> {
  try {
    const { type, chainId, to, nonce = 0, data, gas, gasPrice } = parseTransaction(raw);
    // viem omits fields that are zero or empty.
    if (type !== "legacy" || chainId !== undefined || to || nonce !== 0) return undefined;
    if (data === undefined || gas === undefined || gasPrice === undefined) return undefined;
    const sender = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` });
    return { kind: "presigned", raw, hash: keccak256(raw), sender, gas, gasPrice, initCode: data };
  } catch {
    // The bytes are not a transaction.
    return undefined;
  }
}
