/** How much a memoized function keeps. */
export type MemoizeOptions = Readonly<{
  /** Names; all are forgotten beyond that. */
  most: number;
  /** Longest name that is kept, in characters; the value of a longer one is made each time. */
  nameLength: number;
}>;

/** Makes the value of a name once. Keeps a bounded number of them, because the names come from clients. */
export function memoize<Value extends object | boolean>(
  { most, nameLength }: MemoizeOptions,
  make: (name: string) => Value,
): (name: string) => Value {
  const known = new Map<string, Value>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const made = make(name);
    if (name.length > nameLength) return made;
    if (known.size >= most) known.clear();
    known.set(name, made);
    return made;
  };
}
