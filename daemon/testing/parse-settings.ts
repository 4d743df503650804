import type { z } from "zod";
import { listFixed } from "../settings/section.ts";
import { assignAt, getValueAt } from "../settings/leaf.ts";

/** Parses a section in a test, which may also override its constants (`fixed`). */
export function parseSettings<Shape extends z.core.$ZodShape>(
  section: z.ZodPrefault<z.ZodObject<Shape>>,
  given: Readonly<Record<string, unknown>>,
): z.output<z.ZodObject<Shape>> {
  const own = structuredClone(given);
  const constants = listFixed(section.unwrap()).flatMap(({ path }) => {
    const value = getValueAt(own, path);
    if (value === undefined) return [];
    assignAt(own, path, undefined);
    return [{ path, value }];
  });
  const parsed = section.parse(own);
  for (const { path, value } of constants) assignAt(parsed as Record<string, unknown>, path, value);
  return parsed;
}
