import { z } from "zod";

/** Creates a settings section, which takes its defaults if unset. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as never);
}
