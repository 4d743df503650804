import {
  hexKey,
  inAnyCase,
  isUnmistakableKey,
  secretName,
  secretParameters,
  secretShapes,
  urlWithPassword,
  uuidInPath,
} from "../../daemon/secrets/secret-vocabulary.ts";
import type { ResourceRule } from "../rule.ts";
import type { Variable } from "../workload.ts";
import { checkContainers } from "../workload-of.ts";

/** URLs of stores are secrets, too, because most contain a password. */
const secretVariable = new RegExp(`${secretName}|${inAnyCase("(?:REDIS|DATABASE|POSTGRES)_URL")}`);

/** A shell's working directories. */
const workingDirectoryVariable = /^(?:OLD)?PWD$/i;

/** Names of checksums, which resemble 32-byte keys. */
const checksumName = /_SHA256$/i;

/** A key is a whole value: a longer one may contain a hash, as an image's reference does. */
const keyValue = new RegExp(`^${hexKey}$`, "i");
const secretValues = [
  ...secretShapes,
  urlWithPassword,
  /\b(https?|wss?):\/\/[^/\s@]+@/i,
  new RegExp(String.raw`[?&](?:[\w-]{0,64}?${secretName}|${inAnyCase(secretParameters)})=[^&\s]`),
];

const webUrl = /\b(?:https?|wss?):\/\/[^\s,"'?#]+/gi;

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
  if (secretValues.some((pattern) => value.search(pattern) !== -1) || hasKeyInPath(value)) return true;
  return secretVariable.test(name) && !workingDirectoryVariable.test(name);
}

function hasKeyInPath(value: string): boolean {
  const urls = value.match(webUrl) ?? [];
  const segments = urls.flatMap((url) => url.split("/").slice(3));
  return urls.some((url) => url.search(uuidInPath) !== -1) || segments.some(isUnmistakableKey);
}
