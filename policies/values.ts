/**
 * Readers for resource properties. A deployment's properties are untyped, and at preview individual values can be unknown: reading one
 * throws, and Pulumi then reports the rule as advisory. A rule therefore reads only the values it needs. A value of the wrong type counts
 * as absent, never as valid.
 */

/** Reads the items of a list; empty if the value isn't a list. */
export function readItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads the fields of an object; empty if the value isn't an object. */
export function readFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Reads a string; undefined if the value isn't one. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Reads an integer; undefined if the value isn't one. */
export function readInteger(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

/** Returns whether a value is unknown until the update; reading it at preview throws. */
export function isUnknown(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    if (error instanceof Error && "unknownTypeSentinel" in error) return true;
    throw error;
  }
}

/** Returns whether a switch that must be off has any value other than `false`. */
export function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
