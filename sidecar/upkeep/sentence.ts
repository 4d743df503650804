/** Capitalizes a sentence, unless it starts with the name of a setting or file. */
export function capitalize(text: string): string {
  return /^[\w-]+\.\w/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
