/** Begins a sentence with a capital letter, unless it begins with the name of a setting or file. */
export function capitalize(text: string): string {
  return /^[\w-]+\.\w/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
