/** Most characters of a value that are shown; values that somebody else wrote may be long. */
const shownMax = 80;

/** Formats a value of a configuration for people: short, and without the credentials of a URL. */
export function formatValue(value: unknown): string {
  const text = withoutCredentials(JSON.stringify(value) ?? "nothing");
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}

/** Masks the text before the `@` of URLs and addresses (RFC 3986, 3.2.1: a password there is shown to everybody). */
export function withoutCredentials(text: string): string {
  return text.replace(/(\/\/|")[^\s/@":]*:[^\s/@"]*@/g, "$1[secret]@");
}
