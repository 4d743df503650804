import { isDeepStrictEqual } from "node:util";

/** One step of a patch (RFC 6902). */
export type Operation = Readonly<{ op: "add" | "replace" | "remove"; path: string; value?: unknown }>;

/**
 * Lists the operations that make one value of another. Lists of the same length are compared entry by entry; lists of different lengths are replaced as
 * a whole.
 */
export function compareValues(from: unknown, to: unknown, path = ""): readonly Operation[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length) {
    return from.flatMap((entry, index) => compareValues(entry, to[index], `${path}/${index}`));
  }
  if (!isRecord(from) || !isRecord(to)) return [{ op: "replace", path, value: to }];
  const removed = Object.keys(from).filter((key) => !(key in to));
  return [
    ...removed.map((key) => ({ op: "remove" as const, path: `${path}/${escape(key)}` })),
    ...Object.entries(to).flatMap(([key, value]) => {
      const at = `${path}/${escape(key)}`;
      return key in from ? compareValues(from[key], value, at) : [{ op: "add" as const, path: at, value }];
    }),
  ];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Escapes a key of a JSON pointer (RFC 6901). */
function escape(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
