import { isSecretValue, withoutCredentials } from "./secret-shapes.ts";

/** Most characters of a value that are shown; values that somebody else wrote may be long. */
const shownMax = 80;

/** Formats a value of a configuration for people: short, and without a secret or the credentials of a URL. */
export function formatValue(value: unknown): string {
  const shown = JSON.stringify(value, (key, part: unknown) => (isSecretValue(key, part) ? "[secret]" : part));
  const text = withoutCredentials(shown ?? "nothing");
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
