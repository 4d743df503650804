/** Ambiguous values of an option; the message says which, and how to name them. */
export class NamedValueError extends Error {
  override readonly name = "NamedValueError";
  readonly code = "ambiguous_value";
}

/** Values of an option of a command for several nodes. */
export type GivenValues = Readonly<{
  option: string;
  /** Each is `name=value`, or only a value, which is for all other nodes. */
  words: readonly string[];
  /** Whether one value can be right for several nodes. */
  isShared: boolean;
}>;

/**
 * Assigns the values of an option to nodes. Pure.
 *
 * @throws {NamedValueError} for a name that no node has, two values for one node, and a value without a name that can't be for all.
 * @example
 * assignValues({ option: "--cwd", words: ["a=/srv/a", "/srv/b"], isShared: true }, ["a", "b"]).get("a"); // "/srv/a"
 */
export function assignValues(
  { option, words, isShared }: GivenValues,
  names: readonly string[],
): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  let forAll: string | undefined;
  for (const word of words) {
    const name = findName(word, names, option);
    const value = name === undefined ? word : word.slice(name.length + 1);
    const form = `${option} ${names[0] ?? "name"}=…`;
    if (value === "") throw new NamedValueError(`${option} ${word} has no value.`);
    if (name !== undefined && named.has(name)) throw new NamedValueError(`${option} is given twice for ${name}.`);
    if (name === undefined && forAll !== undefined) {
      throw new NamedValueError(`${option} is given twice without a name; say whose each is, as in ${form}.`);
    }
    if (name === undefined && !isShared && names.length > 1) {
      throw new NamedValueError(`${option} can't be one for several; say whose it is, as in ${form}.`);
    }
    if (name === undefined) forAll = value;
    else named.set(name, value);
  }
  return new Map(
    names.flatMap((name): readonly [string, string][] => {
      const value = named.get(name) ?? forAll;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function findName(word: string, names: readonly string[], option: string): string | undefined {
  const [before = "", ...rest] = word.split("=");
  if (rest.length === 0) return undefined;
  if (names.includes(before)) return before;
  // A path or a URL may contain a `=`; an unknown word without a slash was meant to be a name.
  if (names.length === 1 || before.includes("/")) return undefined;
  throw new NamedValueError(
    `${option} ${before}=…: none of them has that name; they are ${names.join(", ")}. A file with a = in its name is written ./${before}=….`,
  );
}
