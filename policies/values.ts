/**
 * Readers of resource properties. A deployment's properties come as untyped data, and at preview single values can be unknown
 * (reading one throws, and Pulumi then reports the rule as advisory): so a rule reads no more than it needs, and a value
 * of the wrong type counts as absent, never as right.
 */

/** Reads the items of a list; empty if the value isn't a list. */
export function readItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads the fields of an object; empty if the value isn't an object. */
export function readFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Reads a text; undefined if the value isn't one. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Reads a whole number; undefined if the value isn't one. */
export function readWhole(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

/** Whether a value is one that only the update will know: at preview, reading it throws. */
export function isUnknown(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    if (error instanceof Error && "unknownTypeSentinel" in error) return true;
    throw error;
  }
}

/** Whether a switch that has to be off is set to anything but `false`. */
export function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
