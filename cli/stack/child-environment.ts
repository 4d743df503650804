/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a child: what the embedded stack sets, with the person's own variables over it. A secret that the person
 * gives by `NAME` takes the place of the stack's `NAME_FILE`, because a service takes one of the two only.
 */
export function childEnvironment(defaults: Readonly<Record<string, string>>, own: Variables): Record<string, string> {
  const kept = Object.entries(defaults).filter(([name]) => !own[name.replace(/_FILE$/, "")]);
  const given = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  return { ...Object.fromEntries(kept), ...Object.fromEntries(given) };
}
