import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import secp256k1 from "secp256k1";
import type { Hex } from "#x402/hex.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** How the double handles signing requests. */
type SigningMode = "signs" | "rejects" | "hangs";

/** AWS KMS on a free port, with asymmetric keys of secp256k1 by id. */
export type KmsDouble = AsyncDisposable &
  Readonly<{
    env: Readonly<Record<string, string>>;
    setMode: (mode: SigningMode) => void;
    /** Requested actions, such as `Sign`. */
    asked: readonly string[];
  }>;

/** SubjectPublicKeyInfo (RFC 5480) of a secp256k1 key, without its point. */
const publicKeyPrefix = Buffer.from("3056301006072a8648ce3d020106052b8104000a034200", "hex");
const groupOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Starts the double. Every second signature has a high `s`, because KMS does not normalize them. */
export async function startKmsDouble(keys: Readonly<Record<string, Hex>>): Promise<KmsDouble> {
  const requests: string[] = [];
  let mode: SigningMode = "signs";
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const action = String(request.headers["x-amz-target"]).replace("TrentService.", "");
      requests.push(action);
      const { KeyId = "", Message = "" } = JSON.parse(body) as Readonly<Record<string, string>>;
      const key = keys[KeyId];
      if (key === undefined)
        return send(response, 400, { __type: "NotFoundException", message: `Invalid keyId '${KeyId}'` });
      if (action === "GetPublicKey") return send(response, 200, buildPublicKey(KeyId, toBytes(key)));
      if (mode === "hangs") return undefined;
      if (mode === "rejects")
        return send(response, 400, { __type: "DisabledException", message: `${KeyId} is disabled.` });
      return send(
        response,
        200,
        buildSignature(KeyId, Buffer.from(Message, "base64"), toBytes(key), requests.length % 2 === 0),
      );
    });
  });
  const local = await listenLocally(server);
  return {
    env: {
      AWS_ENDPOINT_URL_KMS: local.url,
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "a-secret-of-the-test",
    },
    setMode: (next) => void (mode = next),
    asked: requests,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

function send(response: ServerResponse, status: number, answer: object): void {
  response.writeHead(status, { "Content-Type": "application/x-amz-json-1.1" }).end(JSON.stringify(answer));
}

function buildPublicKey(KeyId: string, key: Uint8Array) {
  const der = Buffer.concat([publicKeyPrefix, secp256k1.publicKeyCreate(key, false)]);
  return {
    CustomerMasterKeySpec: "ECC_SECG_P256K1",
    KeyId,
    KeySpec: "ECC_SECG_P256K1",
    KeyUsage: "SIGN_VERIFY",
    PublicKey: der.toString("base64"),
    SigningAlgorithms: ["ECDSA_SHA_256"],
  };
}

function buildSignature(KeyId: string, digest: Uint8Array, key: Uint8Array, isHigh: boolean) {
  const { signature } = secp256k1.ecdsaSign(digest, key);
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).toString("hex")}`);
  if (isHigh) signature.set(toBytes(`0x${(groupOrder - s).toString(16).padStart(64, "0")}`), 32);
  const der = secp256k1.signatureExport(signature);
  return { KeyId, Signature: Buffer.from(der).toString("base64"), SigningAlgorithm: "ECDSA_SHA_256" };
}

function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}
