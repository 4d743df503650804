/** Returns the value at a path of keys; undefined if the path doesn't exist. */
export function getValueAt(raw: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    raw,
  );
}

/** Sets the value at a path of keys; creates parent objects, replacing non-objects. */
export function assignAt(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const child = target[key];
  const next = typeof child === "object" && child !== null ? (child as Record<string, unknown>) : {};
  target[key] = next;
  assignAt(next, rest, value);
}
