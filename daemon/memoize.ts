/** Bounds on what a memoised function keeps. */
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
    if (name.length > nameLength) return make(name);
    const own = copy(name);
    const made = make(own);
    if (known.size >= most) known.clear();
    known.set(own, made);
    return made;
  };
}

/** Copies a text into its own memory: on Node 24 a part that was cut from a text, such as a request's head, keeps all of it in memory. */
function copy(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
