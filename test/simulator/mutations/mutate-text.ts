import type { Mutation } from "./mutation.ts";

/**
 * Applies a mutation to the text of its file.
 *
 * @throws {Error} if the file does not contain the text exactly once.
 */
export function mutateText({ fault, file, edits }: Mutation, text: string): string {
  let mutated = text;
  for (const [from, to] of Object.entries(edits)) {
    const [before, after, ...others] = mutated.split(from);
    if (before === undefined || after === undefined || others.length > 0)
      throw new Error(`${file} has not once the text that "${fault}" replaces; change the mutation: ${from}`);
    mutated = `${before}${to}${after}`;
  }
  return mutated;
}
