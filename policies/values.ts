/**
 * Readers of resource properties. A deployment's properties come as untyped data, and at preview single values can be unknown
 * (reading one throws, and Pulumi then reports the rule as advisory): so a rule reads no more than it needs, and what has the
 * wrong type counts as absent, never as right.
 */

/** The items of a list; nothing when the value is no list. */
export function readItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The fields of an object; none when the value is no object. */
export function readFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** The text of a value; `undefined` when it is no text. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The whole number of a value; `undefined` when it is not one. */
export function readWhole(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

/** Whether something is said at all and is not exactly `false`: how a switch reads that has to be off. */
export function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
