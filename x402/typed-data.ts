import { getHashes, hash } from "node:crypto";
import * as Hash from "ox/Hash";
import { encodeAddress, encodeInteger, type Hex, type Word } from "./hex.ts";

/** EIP-3009's `TransferWithAuthorization`. Amount in the token's smallest unit, times in seconds since 1970. */
export type Authorization = Readonly<{
  from: Hex;
  to: Hex;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}>;

export type TokenDomain = Readonly<{ address: Hex; name: string; version: string; chainId: number }>;

/** OpenSSL's name for Keccak-256. Node has included such an OpenSSL since 24.5. */
const native = "keccak-256";

/** Hashes with Keccak-256, natively if OpenSSL supports it, which takes a tenth of the time of JavaScript. */
export const keccak256: (bytes: Uint8Array) => Buffer = getHashes().includes(native)
  ? (bytes) => hash(native, bytes, "buffer")
  : (bytes) => Buffer.from(Hash.keccak256(bytes, { as: "Bytes" }));

const domainType = hashText("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
const authorizationFields =
  "(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)";
/** `receive` is a transfer that only its recipient can execute. */
const authorizationTypes = {
  transfer: hashText(`TransferWithAuthorization${authorizationFields}`),
  receive: hashText(`ReceiveWithAuthorization${authorizationFields}`),
};

export function hashText(text: string): Word {
  return keccak256(Buffer.from(text)).toString("hex");
}

export function computeSelector(signature: string): Hex {
  return `0x${hashText(signature).slice(0, 8)}`;
}

export function hashWords(...words: readonly Word[]): Word {
  return keccak256(Buffer.from(words.join(""), "hex")).toString("hex");
}

export function computeTypedDataDigest(separator: Word, struct: Word): Uint8Array {
  return keccak256(Buffer.from(`1901${separator}${struct}`, "hex"));
}

/** Computes and caches the domain separator of a contract on each chain; only served chains get here. */
export function cacheSeparator(compute: (chainId: number) => Word): (chainId: number) => Word {
  const known = new Map<number, Word>();
  return (chainId) => {
    const separator = known.get(chainId) ?? compute(chainId);
    known.set(chainId, separator);
    return separator;
  };
}

/** Computes the domain separator of a token (EIP-712, `hashStruct(eip712Domain)`), as returned by the token's `DOMAIN_SEPARATOR()`. */
export function computeDomainSeparator({ address, name, version, chainId }: TokenDomain): Hex {
  const words = [hashText(name), hashText(version), encodeInteger(BigInt(chainId)), encodeAddress(address)];
  return `0x${hashWords(domainType, ...words)}`;
}

/** Encodes an authorization's six fields as ABI words, in the order of EIP-712 and of EIP-3009's method. */
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
  return computeTypedDataDigest(separator.slice(2), hashWords(authorizationTypes[type], words));
}
