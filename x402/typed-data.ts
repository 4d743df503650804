import { encodeAddress, encodeInteger, type Hex, type Word } from "./hex.ts";
import { keccak256 } from "./keccak.ts";

/** EIP-3009's `TransferWithAuthorization`. Amount in the token's smallest unit, times in seconds since 1970. */
export type Authorization = Readonly<{
  from: Hex;
  to: Hex;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}>;

/** EIP-712 domain of a token. */
export type TokenDomain = Readonly<{ address: Hex; name: string; version: string; chainId: number }>;

const domainType = hashText("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
const authorizationFields =
  "(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)";
/** `receive` is a transfer that only its recipient can execute. */
const authorizationTypes = {
  transfer: hashText(`TransferWithAuthorization${authorizationFields}`),
  receive: hashText(`ReceiveWithAuthorization${authorizationFields}`),
};

function hashText(text: string): Word {
  return keccak256(Buffer.from(text)).toString("hex");
}

/** Computes the domain separator of a token (EIP-712, `hashStruct(eip712Domain)`), as returned by the token's `DOMAIN_SEPARATOR()`. */
export function computeDomainSeparator({ address, name, version, chainId }: TokenDomain): Hex {
  const words = [domainType, hashText(name), hashText(version), encodeInteger(BigInt(chainId)), encodeAddress(address)];
  return `0x${keccak256(Buffer.from(words.join(""), "hex")).toString("hex")}`;
}

/**
 * Encodes the six fields of an authorization as ABI words, in the order of both its hash (EIP-712) and the arguments of
 * `transferWithAuthorization` (EIP-3009).
 */
export function encodeAuthorization(authorization: Authorization): Word {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return (
    encodeAddress(from) +
    encodeAddress(to) +
    encodeInteger(value) +
    encodeInteger(validAfter) +
    encodeInteger(validBefore) +
    nonce.slice(2).toLowerCase()
  );
}

/** Computes the hash that the payer signs (EIP-712). It identifies the payment: token, chain and every field of the authorization. */
export function computeAuthorizationDigest(
  separator: Hex,
  words: Word,
  type: keyof typeof authorizationTypes = "transfer",
): Uint8Array {
  const struct = keccak256(Buffer.from(authorizationTypes[type] + words, "hex")).toString("hex");
  return keccak256(Buffer.from(`1901${separator.slice(2)}${struct}`, "hex"));
}
