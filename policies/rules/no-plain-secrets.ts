import type { ResourceRule } from "../rule.ts";
import type { Variable } from "../workload.ts";
import { checkContainers } from "../workload-of.ts";

/** Names of variables that contain secrets. A name that ends in `_FILE` is allowed, because the variable contains a file path. */
const secretName =
  /(PRIVATE_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?<!^|^OLD)PWD|TOKEN|API_?KEY|MNEMONIC|CREDENTIAL|REDIS_URL|DATABASE_URL|POSTGRES_URL)/i;

/** Names that contain `token` but are not secrets: the payment token's contract and name, and the issuer and audience of access tokens. */
const harmless = /(_FILE$|_PATH$|TOKEN_(ADDRESS|NAME|VERSION)$|TOKENS_(ISSUER|AUDIENCE)$)/i;

/** Names of checksums, which resemble 32-byte keys. */
const checksumName = /_SHA256$/i;

/** Values that are secrets regardless of the variable's name: a 32-byte key, a URL with a password or a key, a PEM key. */
const keyValue = /^(0x)?[0-9a-f]{64}$/i;
const secretValue = [
  /\b[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i,
  /\b(https?|wss?):\/\/[^/\s@]+@/i,
  /[?&](api[_-]?key|key|token|secret|password)=[^&\s]/i,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** URLs, and what in their paths may be a key: RPC providers put it there. An address is none. */
const webUrl = /\b(?:https?|wss?):\/\/[^\s,"'?#]+/gi;
const keySegment = /^(?!0x[0-9a-f]{40}$)(?=.*\d)(?=.*[a-z])[\w-]{16,}$/i;

/** Places where a digit adjoins a letter: words and dates have few, keys many. */
const mixed = /[a-z](?=\d)|\d(?=[a-z])/gi;
const mixedMin = 3;

export const noPlainSecrets: ResourceRule = {
  scope: "resource",
  name: "no-plain-secrets",
  severity: "critical",
  why: "A container's environment is visible in inspect, in dumps and to every child process.",
  remedy: "Deliver the secret as a file, and set the variable of the same name plus _FILE to its path.",
  check: (resource) =>
    checkContainers(resource, (container) =>
      container
        .variables()
        .filter(isSecret)
        .map(({ name }) => `has what looks like a secret in the plain environment variable ${name}`),
    ),
};

function isSecret({ name, value }: Variable): boolean {
  if (value === undefined || value === "") return false;
  if (keyValue.test(value) && !checksumName.test(name)) return true;
  if (secretValue.some((pattern) => pattern.test(value)) || hasKeyInPath(value)) return true;
  return secretName.test(name) && !harmless.test(name);
}

function hasKeyInPath(value: string): boolean {
  const segments = (value.match(webUrl) ?? []).flatMap((url) => url.split("/").slice(3));
  return segments.some((segment) => keySegment.test(segment) && (segment.match(mixed) ?? []).length >= mixedMin);
}
