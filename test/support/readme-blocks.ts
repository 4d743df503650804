import { readFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/**
 * The shell blocks of a README after a heading or a bold lead, in order.
 *
 * @throws {Error} if the text is not there.
 */
export async function readShellBlocks(readme: string, after: string): Promise<readonly string[]> {
  const text = await readFile(join(root, readme), "utf8");
  const place = text.indexOf(after);
  if (place < 0) throw new Error(`${readme} says nowhere "${after}"`);
  return [...text.slice(place).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
}
