/** Limits on the cache of a memoized function. */
export type MemoizeOptions = Readonly<{
  /** Max number of cached names; when exceeded, all entries are dropped. */
  max: number;
  /** Max length of a cached name, in characters; the value of a longer one is computed each time. */
  nameLength: number;
}>;

/** Memoizes a function of a name. The cache is limited, because clients supply the names. */
export function memoize<Value extends object | boolean>(
  { max, nameLength }: MemoizeOptions,
  make: (name: string) => Value,
): (name: string) => Value {
  const known = new Map<string, Value>();
  return (name) => {
    const cached = known.get(name);
    if (cached !== undefined) return cached;
    if (name.length > nameLength) return make(name);
    const own = copy(name);
    const made = make(own);
    if (known.size >= max) known.clear();
    known.set(own, made);
    return made;
  };
}

/** Copies a string into its own memory: on Node 24, a slice, such as a request's header, keeps the whole string alive. */
function copy(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

/** Sets an entry of a map that retains only the newest `entriesMax` entries. */
export function retainNewest<K, V>(map: Map<K, V>, key: K, value: V, entriesMax: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= entriesMax) return;
  for (const oldestKey of map.keys()) {
    map.delete(oldestKey);
    return;
  }
}

/** Memoizes a function's last result; the function runs again only when an argument changes. */
export function rememberLast<Arguments extends readonly unknown[], Result>(
  compute: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  let last: Readonly<{ given: Arguments; result: Result }> | undefined;
  return (...given) => {
    const before = last;
    if (before?.given.length === given.length && given.every((each, at) => each === before.given[at]))
      return before.result;
    last = { given, result: compute(...given) };
    return last.result;
  };
}
