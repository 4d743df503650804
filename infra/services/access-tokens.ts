import { hkdfSync } from "node:crypto";
import { stackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import { findStackSecret } from "./node/dev-accounts.ts";
import type { StackContext } from "./stack-context.ts";

/** Tokens that the resource server sells and the gateway accepts: both use the same names. */
export type AccessTokens = Readonly<{
  /** Signing key, PEM (PKCS #8), Ed25519; undefined if the stack has no secret, which preflight rejects. */
  privateKey: DeploymentSecret | undefined;
  keySetUrl: string;
  issuer: string;
  audience: string;
}>;

/** Bytes that precede a 32-byte Ed25519 key in PKCS #8 (RFC 8410, section 7). */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Derives a stack's tokens. The key for the tokens is derived from the stack's secret (HKDF, RFC 5869): nothing else needs to be stored, and
 * neither reveals the other. A new secret invalidates tokens sold earlier, unless the former one is also configured.
 */
export function deriveAccessTokens(
  config: Pick<StackConfig, "devAccounts" | "signerPrivateKey" | "stackSecret" | "formerStackSecret">,
  { prefix, addresses, secret }: Pick<StackContext, "prefix" | "addresses" | "secret">,
): AccessTokens {
  const [stackSecret, previous] = [findStackSecret(config), config.formerStackSecret];
  const previousKey = previous === undefined ? "" : deriveTokenKey(previous, prefix);
  return {
    privateKey: stackSecret === undefined ? undefined : secret(deriveTokenKey(stackSecret, prefix) + previousKey),
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
