import { chmodSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes a compile cache filled by this user readable and writable by the group, and shares it with another user. In the cache, Node keeps
 * one directory per user, whose name ends with the user's ID and which only that user can read. For the second user, a link with its own ID
 * points to the first user's directory.
 *
 * @throws {Error} if Node names its directories differently.
 */
export function shareCompileCache(directory: string, { user }: Readonly<{ user: string | undefined }>): void {
  chmodSync(directory, 0o770);
  for (const own of readdirSync(directory)) {
    chmodSync(join(directory, own), 0o770);
    for (const name of readdirSync(join(directory, own))) chmodSync(join(directory, own, name), 0o640);
    const other = nameForUser(own, user);
    if (other !== own) symlinkSync(own, join(directory, other));
  }
}

function nameForUser(own: string, user: string | undefined): string {
  const userSuffix = `-${process.getuid?.()}`;
  if (user === undefined) return own;
  if (!own.endsWith(userSuffix))
    throw new Error(`unexpected file in Node's compile cache: the name of ${own} does not end with ${userSuffix}`);
  return `${own.slice(0, -userSuffix.length)}-${user}`;
}
