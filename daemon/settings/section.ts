import { z } from "zod";

/** Creates a settings section, which takes its defaults if unset. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as never);
}

type Fixed = number | string;

/**
 * A constant with a name and a unit in a settings section, which the code reads like a setting; for values that no deployment tunes.
 * Neither the settings file nor the environment can change it, and it is not documented; setting it is an error that states its value.
 *
 * @example
 * const pool = section({ connections: positiveInteger.default(64), queuedCalls: fixed(4_096) });
 */
export function fixed(value: number): z.ZodDefault<z.ZodType<number>>;
export function fixed(value: string): z.ZodDefault<z.ZodType<string>>;
export function fixed(value: Fixed): z.ZodDefault<z.ZodType<Fixed>> {
  return z
    .custom<Fixed>(isNever, { error: `is always ${value} and can't be set; remove it` })
    .default(value)
    .meta({ fixed: true });
}

/** Declares a constant that the code derives from other values. */
export function derived(): z.ZodDefault<z.ZodType<number | undefined>> {
  return (
    z
      .custom<number | undefined>(isNever, { error: "is derived and can't be set; remove it" })
      // The type requires a value, but there is none.
      .default(undefined as never)
      .meta({ fixed: true })
  );
}

const isNever = () => false;

/** Checks whether a schema in a section was made by {@link fixed} or {@link derived}. */
export function isFixed(schema: z.core.$ZodType): schema is z.ZodDefault<z.ZodType<Fixed | undefined>> {
  return schema instanceof z.ZodDefault && schema.meta()?.["fixed"] === true;
}

/** Lists the constants of a schema, by their path. */
export function listFixed(object: z.ZodObject, at: readonly string[] = []): readonly Readonly<FixedValue>[] {
  return Object.entries(object.shape).flatMap(([key, child]) => {
    const path = [...at, key];
    if (isFixed(child)) return [{ path, value: child.def.defaultValue }];
    const core = child instanceof z.ZodPrefault ? child.def.innerType : child;
    return core instanceof z.ZodObject ? listFixed(core, path) : [];
  });
}

type FixedValue = { path: readonly string[]; value: Fixed | undefined };
