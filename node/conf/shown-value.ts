import { isSecretValue, withoutCredentials } from "./secret-shapes.ts";

/** Max number of characters displayed for a value; values written by others may be long. */
const shownMax = 80;

/** Formats a configuration value for display: short, without secrets or URL credentials. */
export function formatValue(value: unknown): string {
  const shown = JSON.stringify(value, (key, part: unknown) => (isSecretValue(key, part) ? "[secret]" : part));
  const text = withoutCredentials(shown ?? "nothing");
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
