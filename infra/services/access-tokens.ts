import { hkdfSync } from "node:crypto";
import { stackServices } from "#daemon/stack-services.ts";
import type { Addresses } from "./addresses.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { AccessTokens } from "./resource-server-spec.ts";

/** Names of the stack, and a function that makes a secret of text. */
export type TokenContext = Readonly<{
  prefix: string;
  addresses: Addresses;
  secret: (text: string) => DeploymentSecret;
}>;

/** Bytes before an Ed25519 key of 32 bytes in PKCS #8 (RFC 8410, section 7). */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Derives the tokens of a stack. Their key is made of the signer's (HKDF, RFC 5869), which every stack has: nothing more has to be kept, and who knows
 * the one learns nothing about the other. A new signer's key ends the tokens that were sold before.
 *
 * @param signerPrivateKey undefined if the stack has none, which the facilitator refuses.
 */
export function deriveAccessTokens(
  signerPrivateKey: string | undefined,
  { prefix, addresses, secret }: TokenContext,
): AccessTokens {
  return {
    privateKey: signerPrivateKey === undefined ? undefined : secret(deriveTokenKey(signerPrivateKey, prefix)),
    keySetUrl: `http://${addresses["resource-server"]}:${stackServices["resource-server"].ports.http}/.well-known/jwks.json`,
    issuer: `${prefix}-resource-server`,
    audience: `${prefix}-gateway`,
  };
}

function deriveTokenKey(signerPrivateKey: string, prefix: string): string {
  const seed = hkdfSync("sha256", signerPrivateKey, prefix, "gatehouse access tokens", 32);
  const der = Buffer.concat([ed25519Prefix, Buffer.from(seed)]).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`;
}
