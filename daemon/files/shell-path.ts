/** Advice on a path for which {@link isShellPath} is true: it would create a folder named `~` in the working directory. */
export const shellPathAdvice = 'only a shell expands "~", at the start of a word; write the whole path, from "/" on';

/** Returns whether a path begins with the sign that only a shell replaces with a home directory. */
export function isShellPath(path: string): boolean {
  return path.startsWith("~");
}
