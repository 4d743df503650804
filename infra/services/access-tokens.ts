import { hkdfSync } from "node:crypto";
import { stackServices } from "../stack-services.ts";
import type { Addresses } from "./addresses.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { AccessTokens } from "./resource-server-spec.ts";

/** Names of the stack, and a function that turns text into a secret. */
export type TokenContext = Readonly<{
  prefix: string;
  addresses: Addresses;
  secret: (text: string) => DeploymentSecret;
}>;

/** Bytes that precede a 32-byte Ed25519 key in PKCS #8 (RFC 8410, section 7). */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Derives a stack's tokens. The key for the tokens is derived from the stack's secret (HKDF, RFC 5869): nothing else needs to be stored, and
 * neither reveals the other. A new secret invalidates tokens sold earlier.
 *
 * @param stackSecret undefined if the stack has none, which preflight rejects.
 */
export function deriveAccessTokens(
  stackSecret: string | undefined,
  { prefix, addresses, secret }: TokenContext,
): AccessTokens {
  return {
    privateKey: stackSecret === undefined ? undefined : secret(deriveTokenKey(stackSecret, prefix)),
    keySetUrl: `http://${addresses["resource-server"]}:${stackServices["resource-server"].ports.http}/.well-known/jwks.json`,
    issuer: `${prefix}-resource-server`,
    audience: `${prefix}-gateway`,
  };
}

function deriveTokenKey(stackSecret: string, prefix: string): string {
  const seed = hkdfSync("sha256", stackSecret, prefix, "gatehouse access tokens", 32);
  const der = Buffer.concat([ed25519Prefix, Buffer.from(seed)]).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`;
}
