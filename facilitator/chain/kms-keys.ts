import { createPublicKey } from "node:crypto";
import secp256k1 from "secp256k1";
import { startStep } from "#daemon/process/start-step.ts";
import { createTimeoutSignal } from "#daemon/time.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { ChainError } from "./chain-error.ts";
import { computeAddress, type DigestSignature, type SigningKey } from "./transaction-signer.ts";

/** The part of `@aws-sdk/client-kms` that is used here. It is an optional peer, because few deployments need its 24 packages. */
type KmsPackage = Readonly<{
  KMSClient: new (options: object) => Readonly<{
    send: (command: object, options: Readonly<{ abortSignal: AbortSignal }>) => Promise<KmsResponse>;
  }>;
  GetPublicKeyCommand: new (input: Readonly<{ KeyId: string }>) => object;
  SignCommand: new (input: Readonly<Record<string, string | Uint8Array>>) => object;
}>;

type KmsResponse = Readonly<{ PublicKey?: Uint8Array; Signature?: Uint8Array }>;

const packageName = "@aws-sdk/client-kms";

/** Max time of one request, including the package's own retries. */
const requestTimeoutMs = 5_000;

/**
 * Opens asymmetric keys of AWS KMS (ECC_SECG_P256K1, SIGN_VERIFY), by id, ARN or alias. Region and credentials come from AWS's own variables,
 * files and instance metadata.
 *
 * @throws {StartupError} when the package is missing, or KMS does not return the public key of such a key.
 */
export async function openKmsKeys(ids: readonly string[]): Promise<readonly SigningKey[]> {
  if (ids.length === 0) return [];
  const { KMSClient, GetPublicKeyCommand, SignCommand } = await loadPackage();
  const client = new KMSClient({});
  const send = (command: object) => client.send(command, { abortSignal: createTimeoutSignal(requestTimeoutMs) });
  const open = async (KeyId: string): Promise<SigningKey> => {
    const publicKey = await readPublicKey(KeyId, () => send(new GetPublicKeyCommand({ KeyId })));
    const fields = { KeyId, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" };
    return {
      address: computeAddress(publicKey),
      signDigest: async (digest) => {
        try {
          const { Signature = new Uint8Array() } = await send(new SignCommand({ ...fields, Message: digest }));
          return readSignature(Signature, digest, publicKey);
        } catch (cause) {
          throw new ChainError("signer", `AWS KMS can't sign with ${KeyId}: ${describe(cause)}`, { cause });
        }
      },
    };
  };
  return startStep("AWS KMS (signer.kmsKeys)", () => Promise.all(ids.map(open)));
}

async function loadPackage(): Promise<KmsPackage> {
  try {
    return (await import(packageName)) as KmsPackage;
  } catch (cause) {
    const message = `signer.kmsKeys needs ${packageName}, which is not installed; run \`npm install ${packageName}\` where Gatehouse is installed.`;
    throw new StartupError(message, { cause });
  }
}

async function readPublicKey(id: string, request: () => Promise<KmsResponse>): Promise<Uint8Array> {
  try {
    const { PublicKey = new Uint8Array() } = await request();
    const key = createPublicKey({ key: Buffer.from(PublicKey), format: "der", type: "spki" });
    const { crv, x = "", y = "" } = key.export({ format: "jwk" });
    if (crv !== "secp256k1") throw new TypeError(`its curve is ${crv}, not secp256k1 (ECC_SECG_P256K1)`);
    return Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  } catch (cause) {
    const message = `signer.kmsKeys: AWS KMS returns no usable public key for ${id}: ${describe(cause)}. Check the key, the region, and the permissions kms:GetPublicKey and kms:Sign.`;
    throw new StartupError(message, { cause });
  }
}

/** Converts a DER signature, which may have a high `s` (EIP-2) and lacks the parity. */
function readSignature(der: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): DigestSignature {
  const compact = secp256k1.signatureNormalize(secp256k1.signatureImport(der));
  const isOf = (parity: number) =>
    Buffer.from(publicKey).equals(secp256k1.ecdsaRecover(compact, parity, digest, false));
  const yParity = [0, 1].find(isOf);
  if (yParity === undefined) throw new TypeError("the signature does not match the key");
  return { compact, yParity };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "AbortError" || error.name === "TimeoutError"
    ? `no response within ${requestTimeoutMs} ms`
    : error.message;
}
